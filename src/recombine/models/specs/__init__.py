"""Specs of networks and of their parts: what a setting says and a command line sets.

Nothing here loads JAX before `build` is called. A spec of your own is a frozen dataclass with
defaults and `build(sizes, key)`, in a file of this folder or anywhere else.
"""

from ._attention import AbstractAttentionSpec as AbstractAttentionSpec
from ._attention import GeometricAttentionSpec as GeometricAttentionSpec
from ._attention import RelativeAttentionSpec as RelativeAttentionSpec
from ._attention import SoftmaxAttentionSpec as SoftmaxAttentionSpec
from ._blocks import AbstractBlockSpec as AbstractBlockSpec
from ._blocks import BlockParts as BlockParts
from ._blocks import CopyGateSpec as CopyGateSpec
from ._blocks import PostNormSpec as PostNormSpec
from ._blocks import PreNormSpec as PreNormSpec
from ._encoders import AbstractEncoderSpec as AbstractEncoderSpec
from ._encoders import CTLPPNDRSpec as CTLPPNDRSpec
from ._encoders import CTLPPTransformerSpec as CTLPPTransformerSpec
from ._encoders import GatedPositionTransformerSpec as GatedPositionTransformerSpec
from ._encoders import GatedRelativeTransformerSpec as GatedRelativeTransformerSpec
from ._encoders import GeometricTransformerSpec as GeometricTransformerSpec
from ._encoders import NDRSpec as NDRSpec
from ._encoders import RelativeTransformerSpec as RelativeTransformerSpec
from ._encoders import TransformerSpec as TransformerSpec
from ._feed_forward import AbstractFeedForwardSpec as AbstractFeedForwardSpec
from ._feed_forward import FeedForwardSpec as FeedForwardSpec
from ._halting import HaltingSpec as HaltingSpec
from ._language import AbstractLanguageSpec as AbstractLanguageSpec
from ._language import LanguageSizes as LanguageSizes
from ._language import TransformerXLSpec as TransformerXLSpec
from ._layer_sizes import LayerSizes as LayerSizes
from ._meta_learners import AbstractHypernetworkSpec as AbstractHypernetworkSpec
from ._meta_learners import AbstractMetaSpec as AbstractMetaSpec
from ._meta_learners import ANILSpec as ANILSpec
from ._meta_learners import LinearHypernetworkSpec as LinearHypernetworkSpec
from ._meta_learners import MAMLSpec as MAMLSpec
from ._meta_learners import NonlinearHypernetworkSpec as NonlinearHypernetworkSpec
from ._meta_learners import VectorSizes as VectorSizes
from ._positions import AbstractPositionsSpec as AbstractPositionsSpec
from ._positions import SinusoidsSpec as SinusoidsSpec
from ._projections import AbstractProjectionsSpec as AbstractProjectionsSpec
from ._projections import DepthScaledProjectionsSpec as DepthScaledProjectionsSpec
from ._projections import HeadwiseProjectionsSpec as HeadwiseProjectionsSpec
from ._projections import ProjectionsSpec as ProjectionsSpec
from ._recurrent import BiLSTMSpec as BiLSTMSpec
from ._recurrent import DNCSpec as DNCSpec
from ._recurrent import LSTMSpec as LSTMSpec
from ._selection import AbstractBalanceSpec as AbstractBalanceSpec
from ._selection import AbstractSelectionSpec as AbstractSelectionSpec
from ._selection import BaseSelectionSpec as BaseSelectionSpec
from ._selection import EntropyBalanceSpec as EntropyBalanceSpec
from ._selection import ImportanceBalanceSpec as ImportanceBalanceSpec
from ._selection import NoisySelectionSpec as NoisySelectionSpec
from ._selection import RouterSizes as RouterSizes
from ._selection import SigmoidSelectionSpec as SigmoidSelectionSpec
from ._selection import SinkhornSelectionSpec as SinkhornSelectionSpec
from ._selection import SoftmaxAfterSelectionSpec as SoftmaxAfterSelectionSpec
from ._selection import SoftmaxBeforeSelectionSpec as SoftmaxBeforeSelectionSpec
from ._selection import SwitchBalanceSpec as SwitchBalanceSpec
from ._sequence import AbstractSequenceSpec as AbstractSequenceSpec
from ._sequence import Frame as Frame
from ._sequence import SequenceSizes as SequenceSizes
from ._sequence import frame_of as frame_of
from ._sequence import sequence_specs as sequence_specs
from ._sparse_feed_forward import DepthScaledFeedForwardSpec as DepthScaledFeedForwardSpec
from ._sparse_feed_forward import MixtureSpec as MixtureSpec
from ._sparse_feed_forward import ProductKeysSpec as ProductKeysSpec
from ._sparse_feed_forward import TopKSpec as TopKSpec

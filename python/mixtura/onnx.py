"""ONNX: makes `skl2onnx.to_onnx` convert our class as it converts scikit-learn's."""

from __future__ import annotations

from typing import Any

from ._gaussian import GaussianMixture

__all__ = ["register"]

#: The name of the operator.
_OURS = "MixturaGaussianMixture"


def register() -> None:
    """Tells skl2onnx of `mixtura.GaussianMixture`; call it once, before `to_onnx`.

    The graph is the one that skl2onnx makes of scikit-learn's class, with outputs "label", "probabilities" and, with
    the option `score_samples`, "score_samples". It computes in the precision of its input: labels and probabilities
    are ours to rounding. Needs `pip install mixtura[onnx]`. Subclasses that override a step of EM are not covered.
    """
    from skl2onnx import update_registered_converter
    from skl2onnx.operator_converters.gaussian_mixture import convert_sklearn_gaussian_mixture
    from skl2onnx.shape_calculators.mixture import calculate_gaussian_mixture_output_shapes

    update_registered_converter(
        GaussianMixture,
        _OURS,
        calculate_gaussian_mixture_output_shapes,
        convert_sklearn_gaussian_mixture,
        parser=_outputs,
        options={"score_samples": [True, False]},
    )


def _outputs(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """The outputs of the graph, as scikit-learn's class has them."""
    from skl2onnx.common.data_types import Int64TensorType, guess_tensor_type

    operator = scope.declare_local_operator(_OURS, model)
    operator.inputs = inputs
    names = ["probabilities"]
    if scope.get_options(model, {"score_samples": False})["score_samples"]:
        names.append("score_samples")
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    for name in names:
        operator.outputs.append(scope.declare_local_variable(name, guess_tensor_type(inputs[0].type)))
    return operator.outputs

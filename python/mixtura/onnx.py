"""Makes `skl2onnx.to_onnx` convert mixtura's class like scikit-learn's."""

from __future__ import annotations

from typing import Any

from ._gaussian import GaussianMixture

__all__ = ["register"]

#: The name of the operator.
_OURS = "MixturaGaussianMixture"


def register() -> None:
    """Registers `mixtura.GaussianMixture` with skl2onnx; call it once, before `to_onnx`.

    The graph is the same as for scikit-learn's class, with the outputs "label", "probabilities" and, with the option
    `score_samples`, "score_samples". It computes in the precision of its input, so labels and probabilities equal those
    of the estimator up to rounding. Needs `pip install mixtura[onnx]` and `import mixtura.onnx`. Subclasses that override a step of EM are not
    supported.
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.operator_converters.gaussian_mixture import convert_sklearn_gaussian_mixture
        from skl2onnx.shape_calculators.mixture import calculate_gaussian_mixture_output_shapes
    except ImportError as error:
        raise ImportError("mixtura.onnx.register needs skl2onnx: pip install mixtura[onnx]") from error

    update_registered_converter(
        GaussianMixture,
        _OURS,
        calculate_gaussian_mixture_output_shapes,
        convert_sklearn_gaussian_mixture,
        parser=_outputs,
        options={"score_samples": [True, False]},
    )


def _outputs(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declares the outputs of the graph, the same as for scikit-learn's class."""
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

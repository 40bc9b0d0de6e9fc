"""Fitted rankers in a notebook: certificate and largest weights below the diagram of scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator


class NotebookFace(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that shows its model, where ``set_config(display="text")`` does not ask for plain text."""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._face()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in found:
            found["text/html"] += self._face()
        return found

    def _face(self) -> str:
        """Return the face of the model; nothing before ``fit``, or where there are several targets."""
        coef = getattr(self, "coef_", None)
        if coef is None or coef.ndim != 1:
            return ""
        face: str = self.to_model()._repr_html_()
        return face

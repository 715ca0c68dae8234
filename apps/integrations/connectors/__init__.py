"""Products that people keep changes in: one package per product, found by its folder."""

from functools import cache

from apps.integrations.domain.contract import Product
from weir.plugins import Registry

_REGISTRY: Registry[Product] = Registry(
    "apps.integrations.connectors", 'there is no product "{}"', beside=("answers", "settings")
)


@cache
def product_choices() -> list[tuple[str, str]]:
    """Return the name and the title of every product."""
    return [(name, product.TITLE) for name, product in sorted(_REGISTRY.members().items())]


def product(name: str) -> Product:
    """Return the product of this name. Raises UnknownMethod."""
    return _REGISTRY.find(name)

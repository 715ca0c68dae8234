"""Search and ordering, the same on every list."""

from rest_framework.filters import OrderingFilter, SearchFilter


class NameSearch(SearchFilter):
    """`?search=` over the view's `search_fields`; every word must match."""

    search_description = "Words that must all appear in the name or description."


class Ordering(OrderingFilter):
    """`?ordering=` by one of the view's `ordering_fields`, `-` for descending."""

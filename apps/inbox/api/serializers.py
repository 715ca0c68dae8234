"""Shape the inbox for the REST API."""

from rest_framework import serializers

from apps.common.api.fields import choices
from apps.inbox.domain.items import ItemKind
from apps.inbox.models import Item

ITEM_KINDS = choices(*ItemKind)


class ItemSerializer(serializers.ModelSerializer[Item]):
    """Describe something that waits for the caller, or that they should know."""

    id = serializers.UUIDField(source="public_id")
    kind = serializers.ChoiceField(choices=ITEM_KINDS)
    about = serializers.CharField(
        help_text="The id of what it is about: a plan, an execution, a system, a topic, a "
        "connection, a webhook, a channel or an objective, by its kind."
    )
    waits = serializers.BooleanField(
        help_text="true: something goes on only once somebody decides, or somebody must look now. "
        "false: it is to be known."
    )
    title = serializers.CharField()
    detail = serializers.CharField()
    since = serializers.DateTimeField(help_text="When it began; it stays while it lasts.")
    grew_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When it got worse last: another agent fell silent, messages were lost elsewhere "
        "or again. null: never.",
    )
    waits_since = serializers.DateTimeField(
        allow_null=True,
        help_text="When it began to wait for somebody, the first time. null: it never did.",
    )
    system = serializers.UUIDField(source="system.public_id", allow_null=True, default=None)
    system_name = serializers.CharField(
        source="system.name", default="", help_text="Empty where it is of no system."
    )
    page = serializers.CharField(help_text="The path of the page where it is dealt with.")

    class Meta:
        model = Item
        fields = (
            *("id", "kind", "about", "waits", "title", "detail", "since", "waits_since"),
            *("grew_at", "system", "system_name", "page"),
        )
        read_only_fields = fields

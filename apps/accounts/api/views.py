"""Let people sign in and out; manage people and tokens."""

from typing import Any, ClassVar

from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.middleware.csrf import get_token
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status, viewsets
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.api.throttle import AccountTry, AddressThrottle, address_of
from apps.accounts.domain.roles import Permission, held
from apps.accounts.models import ApiToken, User, role_choices
from apps.accounts.services import (
    password_change,
    sign_in_record,
    sign_out_record,
    token_create,
    token_revoke,
    user_create,
    user_update,
)
from apps.common.api.fields import EDIT_ONLY, choices, command_list
from apps.common.api.filters import ChangedFilter, CreatedFilter, NameSearch, Ordering
from apps.common.api.forms import Form, ModelForm
from apps.common.api.preconditions import etag, expected_version, repeatable
from apps.common.errors import ApplicationError

IF_MATCH = OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, required=True)


COMMANDS = {
    "create_system": Permission.EDIT_MODEL,
    "start_run": Permission.START_RUN,
    "stop_automatic": Permission.EXECUTE_PLAN,
    "manage_people": Permission.ADMINISTER,
    "manage_agents": Permission.ADMINISTER,
    "manage_tokens": Permission.OWN_ACCOUNT,
    "manage_connections": Permission.ADMINISTER,
    "manage_webhooks": Permission.ADMINISTER,
    "manage_channels": Permission.ADMINISTER,
}
SESSION_COMMANDS = choices(*COMMANDS)
TOKEN_COMMANDS = choices("revoke")


class SessionSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe who is signed in, and what the installation lets them do."""

    signed_in = serializers.BooleanField()
    user_id = serializers.UUIDField(allow_null=True)
    username = serializers.CharField(allow_blank=True)
    display_name = serializers.CharField(allow_blank=True)
    roles = serializers.ListField(child=serializers.ChoiceField(choices=role_choices()))
    allowed_commands = command_list(SESSION_COMMANDS)
    csrf_token = serializers.CharField(help_text="Send as X-CSRFToken with every write.")


class SignInSerializer(Form[dict[str, str]]):
    """Read a name and a password."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(
        max_length=200, trim_whitespace=False, style={"input_type": "password"}
    )


IN_SESSION: list[Any] = [{"session": []}]
"""For the schema: only a person who is signed in may do it, no token."""


def _roles(user: User, auth: Any) -> list[str]:
    """Return the roles that the caller has: of a token, its own and no more than its owner's."""
    if isinstance(auth, ApiToken):
        return [role for role in auth.roles if role in held(user.roles)]
    return user.roles


@method_decorator(csrf_protect, name="dispatch")
class SessionView(APIView):
    """Manage the browser's session. CSRF is checked even before anybody is signed in."""

    permission_classes = [AllowAny]
    never_alike = ("get",)

    def get_throttles(self) -> list[Any]:
        return [AddressThrottle()] if self.request.method == "POST" else []

    def _session(self, request: Request) -> Response:
        user = request.user if isinstance(request.user, User) else None
        may = granted(request)
        # No two answers are alike: the token is masked anew each time.
        return Response(
            headers={"Cache-Control": "no-store"},
            data={
                "signed_in": user is not None,
                "user_id": user.public_id if user else None,
                "username": user.username if user else "",
                "display_name": user.display_name if user else "",
                "roles": _roles(user, request.auth) if user else [],
                "allowed_commands": [c for c, need in COMMANDS.items() if user and need in may],
                "csrf_token": get_token(request._request),
            },
        )

    @extend_schema(operation_id="session_retrieve", responses=SessionSerializer)
    def get(self, request: Request) -> Response:
        """Return who is signed in; answered to anybody, with the CSRF token."""
        return self._session(request)

    @extend_schema(
        operation_id="session_create", request=SignInSerializer, responses=SessionSerializer
    )
    def post(self, request: Request) -> Response:
        """Sign in with name and password."""
        form = SignInSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        username = form.validated_data["username"]
        this_try = AccountTry(request, username)
        account = authenticate(request._request, **form.validated_data)
        user = account if isinstance(account, User) else None
        sign_in_record(user=user, username=username, address=address_of(request))
        if user is None:
            raise ApplicationError(
                "sign_in_refused",
                "Name and password do not match an account. Check both and try again.",
                status=403,
            )
        this_try.succeeded()
        login(request._request, user)
        request.user = user
        return self._session(request)

    @extend_schema(operation_id="session_destroy", responses={204: None})
    def delete(self, request: Request) -> Response:
        """Sign out and end the session."""
        user, address = request.user, address_of(request)
        logout(request._request)
        if isinstance(user, User):
            sign_out_record(user=user, address=address)
        return Response(status=status.HTTP_204_NO_CONTENT)


class PasswordSerializer(Form[dict[str, str]]):
    """Read the present password and the new one."""

    current = serializers.CharField(
        max_length=200, trim_whitespace=False, style={"input_type": "password"}
    )
    password = serializers.CharField(
        max_length=200, trim_whitespace=False, style={"input_type": "password"}
    )


class PasswordView(APIView):
    """Change the caller's own password."""

    needs = {"post": Permission.OWN_ACCOUNT}

    def get_throttles(self) -> list[Any]:
        return [AddressThrottle()]

    @extend_schema(
        operation_id="session_password",
        request=PasswordSerializer,
        responses={204: None},
        auth=IN_SESSION,
    )
    def post(self, request: Request) -> Response:
        """Change the caller's own password, which ends the other sessions and all tokens. Needs a
        session."""
        user = person_in_session(request, "change your password", "token_cannot_change_password")
        form = PasswordSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        this_try = AccountTry(request, user.username)
        changed = password_change(user=user, **form.validated_data)
        this_try.succeeded()
        update_session_auth_hash(request._request, changed)
        return Response(status=status.HTTP_204_NO_CONTENT)


def person_in_session(request: Request, purpose: str, code: str = "token_cannot_grant") -> User:
    """Return the person who is signed in. Raises ApplicationError where a token asks instead."""
    assert isinstance(request.user, User)
    if isinstance(request.auth, ApiToken):
        raise ApplicationError(code, f"Sign in as a person to {purpose}.", status=403)
    return request.user


class UserSerializer(ModelForm[User]):
    """Describe a person with an account."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    roles = serializers.ListField(child=serializers.ChoiceField(choices=role_choices()))
    password = serializers.CharField(
        write_only=True, required=False, trim_whitespace=False, max_length=200
    )
    display_name = serializers.CharField(read_only=True)
    last_login = serializers.DateTimeField(read_only=True, allow_null=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields = [
            "id",
            "username",
            "first_name",
            "last_name",
            "display_name",
            "email",
            "roles",
            "is_active",
            "password",
            "last_login",
            "created_at",
            "updated_at",
            "version",
            "allowed_commands",
        ]
        read_only_fields = ["version", "created_at", "updated_at"]
        extra_kwargs: dict[str, Any] = {"username": {"validators": []}}

    @extend_schema_field(command_list(EDIT_ONLY))
    def get_allowed_commands(self, user: User) -> list[str]:
        return ["edit"]


class UserFilter(ChangedFilter):
    """Filter the list of people by activity."""

    class Meta:
        model = User
        fields = ["is_active"]


class UserViewSet(viewsets.GenericViewSet[User]):
    """Manage people; only administrators see and change them. Nobody is deleted: deactivate
    them."""

    queryset = User.objects.filter(automatic=False)
    serializer_class = UserSerializer
    filterset_class = UserFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["username", "first_name", "last_name", "email"]
    ordering_fields = ["username", "last_login"]
    ordering = ["username"]
    needs = dict.fromkeys(["list", "retrieve", "create", "partial_update"], Permission.ADMINISTER)

    def _answer(self, user: User, http_status: int = 200) -> Response:
        data = self.get_serializer(user).data
        headers = {"ETag": etag(user.version)}
        if http_status == status.HTTP_201_CREATED:
            headers["Location"] = f"/api/v1/users/{user.public_id}"
        return Response(data, status=http_status, headers=headers)

    def list(self, request: Request) -> Response:
        """List everybody with an account."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, id: str) -> Response:
        """Return one person with an account."""
        return self._answer(self.get_object())

    @extend_schema(auth=IN_SESSION)
    @repeatable()
    def create(self, request: Request) -> Response:
        """Add a person with a first password; needs a session."""
        actor = person_in_session(request, "add a person")
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        values = dict(form.validated_data)
        if not values.get("password"):
            raise serializers.ValidationError({"password": "Give a first password."})
        user = user_create(actor=actor, **values)
        return self._answer(user, status.HTTP_201_CREATED)

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change names, roles, the password, or whether the person may sign in.

        A new password ends the sessions and tokens of the account. What lets somebody in or gives
        them a role needs a session; with a token one may change names and end an account.
        """
        version = expected_version(request)
        user = self.get_object()
        form = self.get_serializer(user, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        values = dict(form.validated_data)
        if "roles" in values or "password" in values or values.get("is_active"):
            person_in_session(request, "give somebody roles, a password or the right to sign in")
        return self._answer(
            user_update(user=user, expected_version=version, values=values, actor=actor_of(request))
        )


class TokenSerializer(ModelForm[ApiToken]):
    """Describe a token without its secret."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    owner = serializers.UUIDField(source="owner.public_id", read_only=True)
    owner_name = serializers.CharField(source="owner.display_name", read_only=True)
    roles = serializers.ListField(child=serializers.ChoiceField(choices=role_choices()))
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = ApiToken
        fields = [
            "id",
            "name",
            "owner",
            "owner_name",
            "prefix",
            "roles",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
            "allowed_commands",
        ]
        read_only_fields = ["prefix", "created_at", "revoked_at", "last_used_at"]

    @extend_schema_field(command_list(TOKEN_COMMANDS))
    def get_allowed_commands(self, token: ApiToken) -> list[str]:
        return [] if token.revoked_at else ["revoke"]


class NewTokenSerializer(TokenSerializer):
    """Describe a new token, the only time that its secret is shown."""

    secret = serializers.CharField(read_only=True)

    class Meta(TokenSerializer.Meta):
        fields = [*TokenSerializer.Meta.fields, "secret"]


class TokenFilter(CreatedFilter):
    """Filter tokens by when they were made."""

    class Meta:
        model = ApiToken
        fields: ClassVar[list[str]] = []


class TokenViewSet(viewsets.GenericViewSet[ApiToken]):
    """Manage the caller's own tokens; administrators see and revoke everybody's."""

    queryset = ApiToken.objects.select_related("owner")
    serializer_class = TokenSerializer
    filterset_class = TokenFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["name", "owner__username"]
    ordering_fields = ["name", "created_at", "last_used_at"]
    ordering = ["-id"]
    needs = dict.fromkeys(["list", "create", "destroy"], Permission.OWN_ACCOUNT)
    refuses = {"create": (409,)}

    def get_queryset(self) -> Any:
        everything = super().get_queryset()
        if Permission.ADMINISTER in granted(self.request):
            return everything
        assert isinstance(self.request.user, User)
        return everything.filter(owner=self.request.user)

    def list(self, request: Request) -> Response:
        """List tokens, with the newest first."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(responses={201: NewTokenSerializer}, auth=IN_SESSION)
    @repeatable(secret="secret", instead="Revoke that token and make another, under another key.")
    def create(self, request: Request) -> Response:
        """Make a token for the caller; the answer holds the secret, once. Needs a session."""
        owner = person_in_session(request, "make a token", "token_cannot_make_tokens")
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        token, secret = token_create(owner=owner, **form.validated_data)
        return Response(
            {**TokenSerializer(token).data, "secret": secret},
            status=status.HTTP_201_CREATED,
            headers={"Location": f"/api/v1/tokens/{token.public_id}"},
        )

    def destroy(self, request: Request, id: str) -> Response:
        """Revoke a token at once."""
        token = self.get_object()
        by_itself = isinstance(request.auth, ApiToken) and request.auth.pk == token.pk
        if not by_itself and Permission.ADMINISTER not in granted(request):
            person_in_session(request, "revoke another token", "token_cannot_revoke_others")
        token_revoke(token=token, actor=actor_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

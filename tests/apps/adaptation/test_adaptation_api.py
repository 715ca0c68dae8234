"""What the API says of an adaptation, and who may stop it."""

from apps.accounts.domain.roles import Role
from apps.executions.models import Setting
from tests.apps.adaptation.conftest import ORDER, Estuary


class TestApi:
    def path(self, estuary: Estuary, command: str = "") -> str:
        return f"/api/v1/topics/{estuary.topic.public_id}/adaptation{command}"

    def test_what_holds_and_what_was_decided(self, api, shifted):
        body = api.get(self.path(shifted)).json()
        assert (body["state"], body["because"]) == ("running", "")
        assert (body["window_s"], body["period_s"], body["least_share"]) == (10.0, 1.0, 0.02)
        assert body["contract"] == {"token_rate_per_s": 30.0, "bucket": 15.0}
        assert body["allowed_commands"] == ["stop"]
        first = body["parts"][0]
        assert (first["broker"], first["in_force_rate_per_s"]) == ("a", 10.0)
        assert first["rate_per_s"] > 15.0
        assert (first["is_confirmed"], first["is_silent"]) == (True, False)
        assert (first["offered_per_s"], first["waiting"], first["work_peak"]) == (24.0, 0, 4.0)
        assert [row["broker"] for row in body["parts"]] == ["a", "b", "c"]
        decision = body["decisions"][-1]
        assert (decision["cause"], decision["state"]) == ("shift", "done")
        move = decision["moves"][0]
        assert (move["broker"], move["before"]) == (
            "a",
            {"rate_per_s": 10.0, "size": 5.0},
        )

    def test_stopped_and_resumed(self, api, shifted):
        body = api.post(self.path(shifted, "/stop"), {"note": "Load test"}, format="json").json()
        assert (body["state"], body["note"]) == ("stopped", "Load test")
        assert body["stopped_by"] == "admin"
        assert body["allowed_commands"] == ["resume"]
        again = api.post(self.path(shifted, "/stop"), {}, format="json")
        assert (again.status_code, again.json()["code"]) == (409, "stopped_already")
        body = api.post(self.path(shifted, "/resume"), {}, format="json").json()
        assert (body["state"], body["stopped_by"]) == ("running", "")
        again = api.post(self.path(shifted, "/resume"), {}, format="json")
        assert (again.status_code, again.json()["code"]) == (409, "not_stopped")

    def test_without_an_order_it_is_off(self, api, estuary):
        estuary.order(None)
        body = api.get(self.path(estuary)).json()
        assert (body["state"], body["window_s"], body["allowed_commands"]) == ("off", None, [])
        for command in ("/stop", "/resume"):
            answer = api.post(self.path(estuary, command), {}, format="json")
            assert (answer.status_code, answer.json()["code"]) == (409, "not_adapted")

    def test_commands_are_for_operators(self, as_role, estuary):
        editor = as_role(Role.EDITOR)
        assert editor.get(self.path(estuary)).json()["allowed_commands"] == []
        assert editor.post(self.path(estuary, "/stop"), {}, format="json").status_code == 403
        operator = as_role(Role.OPERATOR)
        assert operator.post(self.path(estuary, "/stop"), {}, format="json").status_code == 200

    def test_what_keeps_it_from_deciding_is_said(self, api, estuary):
        def because() -> tuple[str, str]:
            body = api.get(self.path(estuary)).json()
            return body["state"], body["because"]

        estuary.measure(a=10.0, b=10.0, c=10.0)
        Setting.objects.filter(target__broker="b").update(
            may_hold={"rate_per_s": 12.0, "size": 5.0}
        )
        held, why = because()
        assert (held, "b may hold more than the contract leaves" in why) == ("held", True)
        Setting.objects.update(may_hold=None)
        estuary.order(ORDER)
        assert because() == ("running", "Traffic is measured first: parts may move in 8 s.")
        estuary.order({**ORDER, "brokers": ["c"]})
        held, why = because()
        assert (held, "only c has a part" in why) == ("held", True)

/** The installation: one's tokens and password, the people, who is told what, what runs here. */
import { useParams } from "react-router";

import { AboutPanel } from "./about-panel";
import { ChannelsPanel } from "./channels-panel";
import { NotificationsPanel } from "./notifications-panel";
import { PasswordPanel } from "./password-panel";
import { PeoplePanel } from "./people-panel";
import { PoliciesPanel } from "./policies-panel";
import { TokensPanel } from "./tokens-panel";

import { useMay } from "@/api/session";
import { PageHead } from "@/components/ui/page";
import { Empty } from "@/components/ui/panel";

export default function SettingsPage() {
  const { tab } = useParams();
  const people = useMay("manage_people");
  const tokens = useMay("manage_tokens");
  return (
    <>
      <PageHead
        title="Settings"
        tabs={[
          ...(tokens ? [{ to: "/settings/tokens", label: "API tokens" }] : []),
          ...(people ? [{ to: "/settings/people", label: "People" }] : []),
          { to: "/settings/policies", label: "Policies" },
          { to: "/settings/notifications", label: "Notifications" },
          { to: "/settings/channels", label: "Chat channels" },
          { to: "/settings/password", label: "Password" },
          { to: "/settings/about", label: "About" },
        ]}
      />
      <div className="main">
        {tab === "tokens" && tokens ? <TokensPanel /> : null}
        {tab === "people" && people ? <PeoplePanel /> : null}
        {tab === "policies" ? <PoliciesPanel /> : null}
        {tab === "notifications" ? <NotificationsPanel /> : null}
        {tab === "channels" ? <ChannelsPanel /> : null}
        {tab === "password" ? <PasswordPanel /> : null}
        {tab === "about" ? <AboutPanel /> : null}
        {(tab === "people" && !people) || (tab === "tokens" && !tokens) ? (
          <section className="panel">
            <Empty>Your roles do not include this page.</Empty>
          </section>
        ) : null}
      </div>
    </>
  );
}

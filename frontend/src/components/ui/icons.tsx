/** One meaning per icon: visual language, section 6. Tabler outline, 16 px, stroke 1.75. */
import {
  IconActivity,
  IconAdjustments,
  IconAffiliate,
  IconAlertTriangle,
  IconArrowBackUp,
  IconArrowBarToUp,
  IconArrowsSplit2,
  IconBan,
  IconBarcode,
  IconBroadcast,
  IconBucketDroplet,
  IconBulb,
  IconCamera,
  IconChartLine,
  IconCheck,
  IconChevronDown,
  IconChevronLeft,
  IconChevronRight,
  IconChevronUp,
  IconCircleCheck,
  IconCircleHalf2,
  IconClock,
  IconClockX,
  IconCopy,
  IconCube,
  IconDatabase,
  IconDownload,
  IconEdit,
  IconFileDiff,
  IconFingerprint,
  IconFlame,
  IconGauge,
  IconGridDots,
  IconHash,
  IconHistory,
  IconHome,
  IconHourglass,
  IconInbox,
  IconInfoCircle,
  IconKey,
  IconLogout,
  IconMaximize,
  IconMinus,
  IconMoon,
  IconPin,
  IconPinnedOff,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
  IconPlugConnectedX,
  IconPlus,
  IconProgress,
  IconRefresh,
  IconRss,
  IconScale,
  IconSearch,
  IconSend,
  IconServer,
  IconSettings,
  IconShieldCheck,
  IconSkull,
  IconStack2,
  IconSun,
  IconTable,
  IconTarget,
  IconTicket,
  IconTrash,
  IconUpload,
  IconUser,
  IconUserCheck,
  IconUsers,
  IconVersions,
  IconX,
} from "@tabler/icons-react";

const ICONS = {
  activity: IconActivity,
  adjustments: IconAdjustments,
  affiliate: IconAffiliate,
  alert: IconAlertTriangle,
  back: IconArrowBackUp,
  crest: IconArrowBarToUp,
  ban: IconBan,
  broadcast: IconBroadcast,
  bucket: IconBucketDroplet,
  bulb: IconBulb,
  burst: IconBarcode,
  camera: IconCamera,
  chart: IconChartLine,
  check: IconCheck,
  down: IconChevronDown,
  left: IconChevronLeft,
  right: IconChevronRight,
  up: IconChevronUp,
  solved: IconCircleCheck,
  half: IconCircleHalf2,
  clock: IconClock,
  clockx: IconClockX,
  copy: IconCopy,
  cube: IconCube,
  database: IconDatabase,
  download: IconDownload,
  edit: IconEdit,
  plan: IconFileDiff,
  fingerprint: IconFingerprint,
  flame: IconFlame,
  gauge: IconGauge,
  grid: IconGridDots,
  hash: IconHash,
  history: IconHistory,
  home: IconHome,
  hourglass: IconHourglass,
  inbox: IconInbox,
  info: IconInfoCircle,
  key: IconKey,
  logout: IconLogout,
  fit: IconMaximize,
  minus: IconMinus,
  moon: IconMoon,
  pin: IconPin,
  unpin: IconPinnedOff,
  pause: IconPlayerPause,
  play: IconPlayerPlay,
  stop: IconPlayerStop,
  offline: IconPlugConnectedX,
  plus: IconPlus,
  progress: IconProgress,
  refresh: IconRefresh,
  rss: IconRss,
  scale: IconScale,
  search: IconSearch,
  send: IconSend,
  server: IconServer,
  split: IconArrowsSplit2,
  settings: IconSettings,
  audited: IconShieldCheck,
  skull: IconSkull,
  stack: IconStack2,
  sun: IconSun,
  table: IconTable,
  target: IconTarget,
  ticket: IconTicket,
  trash: IconTrash,
  upload: IconUpload,
  user: IconUser,
  usercheck: IconUserCheck,
  users: IconUsers,
  versions: IconVersions,
  x: IconX,
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name, small = false }: { name: IconName; small?: boolean }) {
  const Drawn = ICONS[name];
  return (
    <Drawn className={small ? "i i-s" : "i"} stroke={1.75} aria-hidden="true" focusable="false" />
  );
}

/** Hatchings that every drawing shares: spill above a crest, ghost for refused. */
export function Hatchings() {
  return (
    <svg width="0" height="0" style={{ position: "absolute" }} aria-hidden="true">
      <defs>
        <pattern
          id="spill"
          width="5"
          height="5"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="5" height="5" fill="var(--load-6)" />
          <rect width="1.6" height="5" fill="var(--surface)" opacity=".75" />
        </pattern>
        <pattern
          id="ghosth"
          width="4"
          height="4"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="1.2" height="4" fill="var(--text-3)" opacity=".55" />
        </pattern>
      </defs>
    </svg>
  );
}

/** The mark: a plate with a double V-notch. */
export function Mark({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" className={className}>
      <rect x="1" y="1" width="22" height="22" rx="5" fill="var(--accent)" />
      <path
        d="M4 6.2h3.1l2.7 8.2L12 8.6l2.2 5.8 2.7-8.2H20l-4.3 12.2h-2.6L12 15.3l-1.1 3.1H8.3z"
        fill="var(--surface)"
      />
      <path d="M1 12.2h22" stroke="var(--accent)" strokeWidth="1.1" />
    </svg>
  );
}

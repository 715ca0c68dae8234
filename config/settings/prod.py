"""Define the settings behind a TLS proxy: cookies only over HTTPS, hosts named by
WEIR_ALLOWED_HOSTS."""

from config.settings.base import *  # noqa: F403

SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 31_536_000

"""What a tree costs with the traffic given, and what another one would save."""

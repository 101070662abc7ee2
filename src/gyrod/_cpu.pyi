has_v3: bool

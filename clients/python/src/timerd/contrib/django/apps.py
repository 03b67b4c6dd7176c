# SPDX-License-Identifier: Apache-2.0
from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class TimerdConfig(AppConfig):
    name = "timerd.contrib.django"
    label = "timerd"

    def ready(self) -> None:
        """Finds the `tasks.py` of each app."""
        autodiscover_modules("tasks")

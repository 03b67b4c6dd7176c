// SPDX-License-Identifier: Apache-2.0
// libyaml's own header.

#pragma once

#include <yaml.h>

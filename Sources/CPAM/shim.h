// SPDX-License-Identifier: Apache-2.0
// What applications ask of Linux-PAM.

#pragma once

#include <security/pam_appl.h>

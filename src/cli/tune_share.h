// ridge tune A B … --share: several models on one machine, tuned together.
#pragma once

#include "cli/share_options.h"

namespace ridge::cli {

// An Exit: kNo where the goals cannot be met together.
int tune_share(const ShareRequest& request);

}  // namespace ridge::cli

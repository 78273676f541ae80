// Reads and writes whole files; errors name the path and the reason.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ridge {

Result<std::string> read_file(const std::string& path);
// Writes beside the target, syncs and renames: readers see the old or the new content, never a part. Creates missing
// parent folders.
Status write_file_atomically(const std::string& path, std::string_view content);

}  // namespace ridge

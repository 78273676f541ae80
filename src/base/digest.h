// A digest of file contents: tells whether a model is the one that was measured before. Fast, not cryptographic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge {

// Of the contents and sizes of `files`, in order; 16 hexadecimal digits. About memory speed.
Result<std::string> digest_files(const std::vector<std::string>& files);
// The same of text in memory.
std::string digest_text(std::string_view text);

}  // namespace ridge

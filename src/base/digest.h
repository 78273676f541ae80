// A digest of contents, to recognise a model seen before: the first 16 hexadecimal digits of SHA-256.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge {

std::string digest_text(std::string_view text);
// Of several files the digest of their digests, in order. Reads them; kNotFound: one cannot be opened.
Result<std::string> digest_files(const std::vector<std::string>& files);

}  // namespace ridge

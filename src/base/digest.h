// A digest of contents, to recognise a model seen before: the first 16 hexadecimal digits of SHA-256.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace ridge {

std::string digest_text(std::string_view text);
// Of several files the digest of their digests, in order. Reads them, the first from `first` if it is open already, so
// that another file in its place does not count; kNotFound: one cannot be opened.
Result<std::string> digest_files(const std::vector<std::string>& files, const Descriptor* first = nullptr);

}  // namespace ridge

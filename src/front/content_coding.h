// Content codings of HTTP and of gRPC: gzip, and deflate in the sense of HTTP (zlib format, RFC 1950). Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "front/body.h"
#include "front/size_limit.h"

namespace ridge::front {

enum class Coding : uint8_t { kIdentity, kGzip, kDeflate };

std::string_view coding_name(Coding coding);  // "gzip"; of static storage

// Appends the decoded bytes to `into`. kInvalid: truncated, corrupt, wrong check sum, bytes behind the end.
// kExhausted: longer than the limit.
Status decode(Coding coding, std::span<const std::byte> coded, const SizeLimit& limit, Body& into);

// The pieces, as one coded text.
std::string encode(Coding coding, std::span<const std::span<const std::byte>> pieces);

}  // namespace ridge::front

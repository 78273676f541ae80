// Content codings: gzip, and deflate in the sense of HTTP (zlib format, RFC 1950). Pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "front/http/body.h"

namespace ridge::front::http {

enum class Coding : uint8_t { kIdentity, kGzip, kDeflate };

std::string_view coding_name(Coding coding);  // "gzip"; of static storage

// Of a Content-Encoding field. nullopt = one that is not supported.
std::optional<Coding> coding_from_field(std::string_view field);

// The coding of the answer, by an Accept-Encoding field (RFC 9110, 12.5.3): the one with the highest q, gzip before deflate;
// identity if no other is requested or every other one is refused.
Coding preferred_coding(std::string_view accept);

// Appends the decoded bytes to `into`. kInvalid: truncated, corrupt, wrong check sum, bytes behind the end.
// kExhausted: more than `limit` bytes.
Status decode(Coding coding, std::span<const std::byte> coded, uint64_t limit, Body& into);

// A request's body decoded according to its Content-Encoding field (empty = none); null = an empty body. The decoded byte at
// `align_at` is aligned as in Body. kUnsupported: an unknown coding; the rest as decode().
Result<std::shared_ptr<const Body>> unpacked(std::shared_ptr<const Body> body, std::string_view field, uint64_t limit,
                                             size_t align_at);

// The pieces, as one coded text.
std::string encode(Coding coding, std::span<const std::span<const std::byte>> pieces);

}  // namespace ridge::front::http

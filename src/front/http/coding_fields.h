// The fields of HTTP that name content codings. Pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "front/content_coding.h"

namespace ridge::front::http {

// Reads a Content-Encoding field. nullopt = not supported.
std::optional<Coding> coding_from_field(std::string_view field);

// The coding of the answer, by an Accept-Encoding field (RFC 9110, 12.5.3): the one with the highest q, gzip before
// deflate; identity if no other is requested or every other one is refused.
Coding preferred_coding(std::string_view accept);

// A request's body decoded according to its Content-Encoding field (empty = none); null = an empty body. The decoded
// byte at `align_at` is aligned as in Body. kUnsupported: an unknown coding; the rest as decode().
Result<std::shared_ptr<const Body>> unpacked(std::shared_ptr<const Body> body, std::string_view field,
                                             const SizeLimit& limit, size_t align_at);

}  // namespace ridge::front::http

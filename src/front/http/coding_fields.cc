#include "front/http/coding_fields.h"

#include <algorithm>
#include <charconv>

namespace ridge::front::http {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// Cuts off and returns `rest` up to `separator`, trimmed.
std::string_view next_part(std::string_view& rest, char separator) {
  size_t end = rest.find(separator);
  std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return trimmed(part);
}

// The weight of one member of Accept-Encoding, "gzip;q=0.5" → 0.5; `member` becomes the coding's name.
double take_weight(std::string_view& member) {
  std::string_view rest = member;
  member = next_part(rest, ';');
  while (!rest.empty()) {
    std::string_view parameter = next_part(rest, ';');
    std::string_view key = next_part(parameter, '=');
    parameter = trimmed(parameter);
    double weight = 0;
    if (!equals_ignoring_case(key, "q")) continue;
    auto [end, failure] = std::from_chars(parameter.data(), parameter.data() + parameter.size(), weight);
    return failure == std::errc() ? weight : 0;
  }
  return 1;
}

}  // namespace

std::optional<Coding> coding_from_field(std::string_view field) {
  field = trimmed(field);
  if (field.empty() || equals_ignoring_case(field, "identity")) return Coding::kIdentity;
  if (equals_ignoring_case(field, "gzip") || equals_ignoring_case(field, "x-gzip")) return Coding::kGzip;
  if (equals_ignoring_case(field, "deflate")) return Coding::kDeflate;
  return std::nullopt;
}

Coding preferred_coding(std::string_view accept) {
  double gzip = -1, deflate = -1, any = 0;
  while (!accept.empty()) {
    std::string_view name = next_part(accept, ',');
    double weight = take_weight(name);
    if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip"))
      gzip = weight;
    else if (equals_ignoring_case(name, "deflate"))
      deflate = weight;
    else if (name == "*")
      any = weight;
  }
  if (gzip < 0) gzip = any;
  if (deflate < 0) deflate = any;
  if (gzip <= 0 && deflate <= 0) return Coding::kIdentity;
  return gzip >= deflate ? Coding::kGzip : Coding::kDeflate;
}

Result<std::shared_ptr<const Body>> unpacked(std::shared_ptr<const Body> body, std::string_view field,
                                             const SizeLimit& limit, size_t align_at) {
  static const std::shared_ptr<const Body> kEmpty = [] {
    auto empty = std::make_shared<Body>();
    empty->start(0);
    return empty;
  }();
  if (!body) return kEmpty;
  std::optional<Coding> coding = coding_from_field(field);
  if (!coding)
    return Error{Code::kUnsupported,
                 "Content-Encoding '" + std::string(field) + "' is not supported; use gzip, deflate or none"};
  if (*coding == Coding::kIdentity) return body;
  auto plain = std::make_shared<Body>(body->budget());
  plain->start(align_at);
  RIDGE_TRY(decode(*coding, body->bytes(), limit, *plain));
  return std::shared_ptr<const Body>(std::move(plain));
}

}  // namespace ridge::front::http

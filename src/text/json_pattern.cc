#include "text/json_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "text/json_keywords.h"
#include "text/regular_expression.h"

namespace ridge::text {
namespace {

constexpr size_t kMostPatterns = 200, kLongestPattern = 16'384;  // [bytes]

// RFC 3339 and RFC 4122 as ranges of digits: no leap seconds and no 29 February, so that each is a date.
#define RIDGE_DATE \
  "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
#define RIDGE_TIME "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define RIDGE_BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
// RFC 1123, 5321 and 3986, of which these are parts: no quoted names, no addresses in brackets.
#define RIDGE_LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define RIDGE_NAME "[A-Za-z0-9]+(-+[A-Za-z0-9]+)*"
#define RIDGE_HOST RIDGE_NAME "(\\." RIDGE_NAME ")*"
#define RIDGE_ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define RIDGE_PATH "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+"
constexpr std::pair<std::string_view, std::string_view> kFormatPatterns[] = {
    {"date", "^" RIDGE_DATE "$"},
    {"time", "^" RIDGE_TIME "$"},
    {"date-time", "^" RIDGE_DATE "T" RIDGE_TIME "$"},
    {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    {"ipv4", "^(" RIDGE_BYTE "\\.){3}" RIDGE_BYTE "$"},
    {"hostname", "^" RIDGE_LABEL "(\\." RIDGE_LABEL "){0,3}$"},
    {"email", "^" RIDGE_ATOM "(\\." RIDGE_ATOM ")*@" RIDGE_HOST "$"},
    {"uri", "^[A-Za-z][A-Za-z0-9+.-]*:(//(" RIDGE_PATH "@)?(" RIDGE_HOST ")?(:[0-9]{0,5})?(/(" RIDGE_PATH
            "|/)*)?|/?(" RIDGE_PATH "(/" RIDGE_PATH ")*/?)?)(\\?(" RIDGE_PATH "|[/?])*)?(#(" RIDGE_PATH "|[/?])*)?$"},
};
#undef RIDGE_DATE
#undef RIDGE_TIME
#undef RIDGE_BYTE
#undef RIDGE_LABEL
#undef RIDGE_NAME
#undef RIDGE_HOST
#undef RIDGE_ATOM
#undef RIDGE_PATH

}  // namespace

Result<const CharacterAutomaton*> Patterns::of(std::string_view pattern, const std::string& place, bool whole) {
  const auto known = known_.find(pattern);
  if (known != known_.end()) return &known->second;
  if (pattern.size() > kLongestPattern)
    return schema_error(Code::kExhausted, place, fmt::format("more than {} bytes", kLongestPattern));
  if (known_.size() == kMostPatterns)
    return schema_error(Code::kExhausted, place, fmt::format("more than {} different patterns", kMostPatterns));
  Result<RegularExpression> expression = parse_regular_expression(pattern, whole);
  if (!expression) return schema_error(expression.error().code, place, expression.error().message);
  RIDGE_ASSIGN(CharacterAutomaton automaton, kept(CharacterAutomaton::of(*expression, work_), place));
  return &known_.emplace(pattern, std::move(automaton)).first->second;
}

Result<CharacterAutomaton> Patterns::kept(std::optional<CharacterAutomaton> made, const std::string& place) const {
  if (made) return *std::move(made);
  return schema_error(Code::kExhausted, place,
                      fmt::format("needs more than {} states or {} steps with what stands beside it; make it shorter, "
                                  "or its repetitions fewer",
                                  CharacterAutomaton::kMostStates, CharacterAutomaton::kMostWork));
}

std::string_view pattern_of_format(std::string_view format) {
  const auto* row = std::ranges::find(kFormatPatterns, format, &std::pair<std::string_view, std::string_view>::first);
  return row == std::end(kFormatPatterns) ? std::string_view() : row->second;
}

}  // namespace ridge::text

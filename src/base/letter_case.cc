#include "base/letter_case.h"

#include <cctype>

namespace ridge {
namespace {

std::string each(std::string_view text, int (*of)(int)) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(of(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

std::string lower_case(std::string_view text) { return each(text, std::tolower); }
std::string upper_case(std::string_view text) { return each(text, std::toupper); }

}  // namespace ridge

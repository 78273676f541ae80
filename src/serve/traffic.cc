#include "serve/traffic.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string_view>

#include "base/read_number.h"

namespace ridge::serve {
namespace {

// The fractional parts of its multiples lie evenly in [0, 1), however many there are.
constexpr double kGoldenRatio = 0.6180339887498949;

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

int64_t Traffic::version_for(const InferRequest& request, uint64_t turn) const {
  const bool of_sequence = request.sequence.id != SequenceId{};
  const auto place =
      static_cast<double>(of_sequence ? std::hash<SequenceId>()(request.sequence.id) : turn) * kGoldenRatio;
  const double at = place - std::floor(place);
  for (const Share& share : shares)
    if (at < share.upto) return share.version;
  return shares.back().version;
}

Result<Traffic> parse_traffic(const std::string& text) {
  constexpr uint32_t kMost = 1'000'000;
  const Error wrong = invalid(fmt::format(
      "'{}': expected versions with weights from 0 to {}, as 1:95, 2:5, at least one above 0", text, kMost));
  Traffic traffic;
  double sum = 0;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    const std::string_view part = std::string_view(text).substr(start, end - start);
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) return wrong;
    int64_t version = 0;
    uint32_t weight = 0;
    if (!read_number(without_blanks(part.substr(0, colon)), version) || version < 1) return wrong;
    if (!read_number(without_blanks(part.substr(colon + 1)), weight) || weight > kMost) return wrong;
    for (const Traffic::Share& share : traffic.shares)
      if (share.version == version) return invalid(fmt::format("'{}': version {} is given twice", text, version));
    traffic.shares.push_back({version, sum += weight});
    start = end + 1;
  }
  if (sum == 0) return wrong;
  for (Traffic::Share& share : traffic.shares) share.upto /= sum;
  return traffic;
}

}  // namespace ridge::serve

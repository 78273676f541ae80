#include "engine/onnxruntime/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ridge::engine::onnxruntime {
namespace {

constexpr std::string_view kHeading = "Node placements";
constexpr std::string_view kAll = " All nodes placed on [", kSome = " Node(s) placed on [";
constexpr std::string_view kNumber = "]. Number of nodes: ", kNode = "  ";

thread_local PlacementListener* listener = nullptr;

}  // namespace

PlacementListener::PlacementListener() { listener = this; }
PlacementListener::~PlacementListener() { listener = nullptr; }

void PlacementListener::hear(std::string_view message) {
  if (listener != nullptr) listener->take(message);
}

void PlacementListener::take(std::string_view message) {
  if (message.starts_with(kHeading)) {
    listing_ = true;
    return;
  }
  if (!listing_) return;
  const bool heads = message.starts_with(kAll) || message.starts_with(kSome);
  if (heads) {
    const size_t begin = message.find('[') + 1, end = message.find(kNumber);
    if (end == std::string_view::npos) return;
    provider_ = message.substr(begin, end - begin);
    const std::string_view digits = message.substr(end + kNumber.size());
    int nodes = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), nodes);
    placement_.by_provider[provider_].nodes += nodes;
  } else if (message.starts_with(kNode) && !provider_.empty()) {
    placement_.by_provider[provider_].listed.emplace_back(message.substr(kNode.size()));
  } else {
    listing_ = false;
  }
}

bool may_compute(const Placement& placement, const std::string& provider) {
  return placement.by_provider.empty() || placement.by_provider.contains(provider);
}

std::string placement_text(const Placement& placement, std::string_view main, size_t most) {
  std::string text;
  auto add = [&](const std::string& provider, const Placement::OnProvider& on, bool list) {
    text += fmt::format("{}{}{} on {}", text.empty() ? "" : ", ", on.nodes,
                        text.empty() ? (on.nodes == 1 ? " node" : " nodes") : "", provider);
    if (!list || on.listed.empty()) return;
    const auto end = on.listed.begin() + static_cast<std::ptrdiff_t>(std::min(most, on.listed.size()));
    text += fmt::format(": {}{}", fmt::join(on.listed.begin(), end, ", "),
                        on.listed.size() > most ? fmt::format(" and {} more", on.listed.size() - most) : "");
  };
  if (auto found = placement.by_provider.find(std::string(main)); found != placement.by_provider.end())
    add(found->first, found->second, false);
  for (const auto& [provider, on] : placement.by_provider)
    if (provider != main) add(provider, on, true);
  return text;
}

}  // namespace ridge::engine::onnxruntime

#include "doctor/peer_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ridge::doctor {
namespace {

using gpu::Card;
using gpu::PeerLink;

// NVIDIA's DCGM (dcgmlib, dcgm_gpu_hardware_limits.h) calls one replay or recovery an error; checksum errors, which are
// repaired by a replay, matter from 100 per second on: fewer than 100 in all cannot be that many.
constexpr int64_t kReplayLimit = 1;
constexpr int64_t kChecksumLimit = 100;

int64_t up_count(const Card& card) {
  return std::count_if(card.links.begin(), card.links.end(), [](const PeerLink& link) { return link.up; });
}

// Most links that are up on a card of the same name.
int64_t best_of_its_kind(const Card& card, const std::vector<Card>& all) {
  int64_t best = 0;
  for (const Card& other : all)
    if (other.name && card.name && *other.name == *card.name) best = std::max(best, up_count(other));
  return best;
}

int64_t counted(const gpu::Reading<int64_t>& reading) { return reading ? *reading : 0; }

bool faulty(const PeerLink& link) {
  return counted(link.replays) >= kReplayLimit || counted(link.recoveries) >= kReplayLimit ||
         counted(link.crc_errors) >= kChecksumLimit;
}

std::string state_text(const Card& card) {
  std::set<std::string> remotes;
  std::string down;
  for (const PeerLink& link : card.links) {
    if (link.remote) remotes.insert(*link.remote);
    if (!link.up) down += fmt::format("{}{}", down.empty() ? "" : ", ", link.index);
  }
  std::string text = fmt::format("{} of {} up", up_count(card), card.links.size());
  if (!remotes.empty()) text += fmt::format(", to {} other device{}", remotes.size(), remotes.size() == 1 ? "" : "s");
  if (!down.empty()) text += "; down: " + down;
  return text;
}

std::string link_errors_text(const Card& card) {
  std::string text;
  for (const PeerLink& link : card.links)
    if (faulty(link))
      text += fmt::format("; link {}: sent again {} times, trained again {} times, {} checksum errors", link.index,
                          counted(link.replays), counted(link.recoveries), counted(link.crc_errors));
  return text;
}

}  // namespace

Finding judge_peer_links(const KnownCard& known, const std::vector<Card>& all) {
  const Card& card = known.card;
  Finding finding = about_card(known, "nvlink", "NVLink");
  if (card.links.empty()) return not_applicable(finding, "it has none: " + card.peer_links.reason);
  const int64_t up = up_count(card), best = best_of_its_kind(card, all);
  const std::string state = state_text(card), errors = link_errors_text(card);
  if (up == 0 && best == 0) return not_applicable(finding, state + ": no bridge or switch joins it to another card");
  if (up < best)
    return warn(finding, fmt::format("{}; another card of its kind has {}{}", state, best, errors),
                "seat the bridge or the card again and look for XID 74 in the kernel log: transfers between cards lose "
                "the bandwidth of these links");
  if (!errors.empty())
    return warn(finding, state + errors,
                "look again (nvidia-smi nvlink -e): if it grows, seat bridge and card again and look for XID 74 in the "
                "kernel log; replace what keeps failing");
  if (up < static_cast<int64_t>(card.links.size()))
    return warn(finding, state,
                "seat the bridges again (nvidia-smi nvlink -s shows each link); with fewer bridges than the card has "
                "places this is its full width");
  return ok(finding, state + ", no errors that matter");
}

}  // namespace ridge::doctor

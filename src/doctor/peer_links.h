// Judges the direct links between cards (NVLink): those that are down, and those that make errors. Pure.
#pragma once

#include <vector>

#include "doctor/card_checks.h"

namespace ridge::doctor {

// `all`: the cards of the machine, to compare with others of the same name.
Finding judge_peer_links(const KnownCard& known, const std::vector<gpu::Card>& all);

}  // namespace ridge::doctor

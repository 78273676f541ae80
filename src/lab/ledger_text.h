// Claims, ledger and occupancy as text and JSON: values in, text out. Used by `ridge lab`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "catalogue/capability.h"
#include "lab/ledger.h"
#include "lab/occupancy.h"

namespace ridge::lab {

std::string claims_text(std::span<const measure::Claim> claims);
Json claims_json(std::span<const measure::Claim> claims);

std::string ledger_text(const Ledger& ledger);

// results[i] is that of capabilities[i].
std::string occupancy_text(std::span<const catalogue::Capability> capabilities, std::span<const Occupancy> results);
Json occupancy_json(const KernelUse& use, std::span<const catalogue::Capability> capabilities,
                    std::span<const Occupancy> results);

}  // namespace ridge::lab

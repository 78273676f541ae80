// Claims, ledger and occupancy as text and JSON: values in, text out. Used by `ridge lab`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "catalogue/capability.h"
#include "lab/ledger.h"
#include "lab/occupancy.h"

namespace ridge::cli {

std::string claims_text(std::span<const lab::Claim> claims);
Json claims_json(std::span<const lab::Claim> claims);

std::string ledger_text(const lab::Ledger& ledger);

// results[i] is that of capabilities[i].
std::string occupancy_text(std::span<const catalogue::Capability> capabilities,
                           std::span<const lab::Occupancy> results);
Json occupancy_json(const lab::KernelUse& use, std::span<const catalogue::Capability> capabilities,
                    std::span<const lab::Occupancy> results);

}  // namespace ridge::cli

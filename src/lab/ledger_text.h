// Claims, ledger and occupancy as text: values in, text out. Used by `ridge lab`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/ledger.h"
#include "lab/occupancy.h"

namespace ridge::lab {

struct ListedClaim {
  measure::Claim claim;
  std::vector<std::string> experiments;
};
void visit_fields(auto& visit, Is<ListedClaim> auto& listed) {
  const measure::Claim& claim = listed.claim;
  visit("id", claim.id, Figure().column("id"));
  visit("statement", claim.statement, Figure().column("claim"));
  visit("figure", claim.figure, means("null: it has none").groups_columns().leaves(3));
  visit("experiments", listed.experiments, means("that test it").column("experiment"));
  visit("on", claim.on, means("where the lab could test it: `cuda`, `opencl`, `cpu`"));
  visit.or_null("elsewhere", claim.elsewhere, means("what checks it instead"));
  visit("source", claim.source, means("guide and section").column("source").leaves(1));
}
struct ListedClaims {
  std::vector<ListedClaim> claims;
};
void visit_fields(auto& visit, Is<ListedClaims> auto& of) { visit("claims", of.claims); }
// With the experiments that test them.
ListedClaims listed(std::span<const measure::Claim> claims);

std::string claims_text(const ListedClaims& claims);
std::string ledger_text(const Ledger& ledger);
std::string occupancy_text(const Occupancies& occupancies);

}  // namespace ridge::lab

#include "measure/claim.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/name_table.h"
#include "base/proc_text.h"
#include "catalogue/data.h"
#include "catalogue/table.h"

namespace ridge::measure {
namespace {

constexpr std::array<std::string_view, 8> kClaimColumns = {"id",   "statement", "kind",      "low",
                                                           "high", "on",        "elsewhere", "source"};
constexpr std::pair<ClaimedFigure::Kind, std::string_view> kKinds[] = {
    {ClaimedFigure::kGain, "gain"}, {ClaimedFigure::kCost, "cost"}, {ClaimedFigure::kShare, "share"}};
constexpr std::pair<Judgement, std::string_view> kVerdictNames[] = {{Judgement::kConfirmed, "confirmed"},
                                                                    {Judgement::kLarger, "larger"},
                                                                    {Judgement::kSmaller, "smaller"},
                                                                    {Judgement::kContradicted, "contradicted"},
                                                                    {Judgement::kNotTestable, "not testable here"},
                                                                    {Judgement::kNotMeasured, "not measured"}};

Result<Claim> claim_of(const catalogue::TableRow& row) {
  Claim claim;
  claim.id = row.text("id");
  claim.statement = row.text("statement");
  claim.source = row.text("source");
  claim.on = split_words(row.text("on"));
  claim.elsewhere = row.text("elsewhere");
  if (!row.text("kind").empty()) {
    RIDGE_ASSIGN(ClaimedFigure::Kind kind, from_name<ClaimedFigure::Kind>(kKinds, row.text("kind"), "kind of figure"));
    claim.figure = ClaimedFigure{kind, row.number("low").value_or(1), row.number("high")};
  }
  RIDGE_TRY(row.status());
  return claim;
}

}  // namespace

NameTable<Judgement> names_of(Judgement) { return kVerdictNames; }
std::string_view verdict_name(Judgement verdict) { return name_of(kVerdictNames, verdict); }

Result<std::vector<Claim>> claims() {
  RIDGE_ASSIGN(catalogue::Table table, catalogue::Table::read(catalogue::data("claims"), "claims", kClaimColumns));
  std::vector<Claim> all;
  for (size_t i = 0; i < table.size(); ++i) {
    RIDGE_ASSIGN(Claim claim, claim_of(table.row(i)));
    all.push_back(std::move(claim));
  }
  return all;
}

Result<Claim> find_claim(std::span<const Claim> all, std::string_view id) {
  std::string known;
  for (const Claim& claim : all) {
    if (claim.id == id) return claim;
    known += (known.empty() ? "" : ", ") + claim.id;
  }
  return Error{Code::kInvalid, fmt::format("there is no claim '{}'; known: {}", id, known)};
}

Ratio effect_of(const ClaimedFigure& figure, const Ratio& measured) {
  if (figure.kind != ClaimedFigure::kCost) return measured;
  return {1 / measured.value, 1 / measured.high, 1 / measured.low};
}

Judgement judge(const ClaimedFigure& figure, const Ratio& measured) {
  Ratio effect = effect_of(figure, measured);
  double around = figure.high == figure.low ? kAround : 0;
  double low = figure.low * (1 - around);
  double high = figure.high.value_or(std::numeric_limits<double>::infinity()) * (1 + around);
  bool has_direction = figure.kind != ClaimedFigure::kShare;
  if (has_direction && effect.high < 1) return Judgement::kContradicted;
  if (effect.high < low) return Judgement::kSmaller;
  if (effect.low > high) return Judgement::kLarger;
  const bool inside = effect.low > low && effect.high < high;
  if (!inside && effect.high > kTooWide * effect.low) return Judgement::kNotTestable;
  if (!has_direction || effect.low > 1) return Judgement::kConfirmed;
  // "More than 1": an interval close around 1 shows that nothing is gained, a wider one shows nothing.
  return !figure.high && effect.high < low * (1 + kAround) ? Judgement::kSmaller : Judgement::kNotTestable;
}

NameTable<ClaimedFigure::Kind> names_of(ClaimedFigure::Kind) { return kKinds; }

std::string figure_text(const ClaimedFigure& figure) {
  if (figure.kind == ClaimedFigure::kShare)
    return figure.high && *figure.high < 1 && *figure.high > figure.low
               ? fmt::format("{:.0f} to {:.0f} %", 100 * figure.low, 100 * *figure.high)
               : fmt::format("{:.0f} %", 100 * figure.low);
  std::string unit = figure.kind == ClaimedFigure::kCost ? " × the time" : " ×";
  if (!figure.high) return fmt::format("more than {:g}{}", figure.low, unit);
  if (*figure.high > figure.low) return fmt::format("{:.2f} to {:.2f}{}", figure.low, *figure.high, unit);
  return fmt::format("{:.2f}{}", figure.low, unit);
}

}  // namespace ridge::measure

#include "lab/ledger_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/schema.h"
#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/paragraph.h"
#include "cli/terminal.h"

namespace ridge::lab {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::string> experiments_of(const measure::Claim& claim) {
  std::vector<std::string> names;
  for (const Experiment& experiment : all_experiments())
    if (std::find(experiment.claims.begin(), experiment.claims.end(), claim.id) != experiment.claims.end())
      names.emplace_back(experiment.name);
  return names;
}

// "1.2 ms against 2.3 ms, 12.3 GB/s against 4.56 GB/s"; or GFLOP/s.
std::string rates_text(const LedgerRow& row) {
  const Speed &one = row.variant_speed, &other = row.baseline_speed;
  const auto rate = [](const Speed& speed) {
    return speed.bytes_per_s ? format_bandwidth(*speed.bytes_per_s) : format_flops_rate(speed.flops_per_s.value_or(0));
  };
  return fmt::format("{} against {}, {} against {}", format_ms(1e3 * one.seconds), format_ms(1e3 * other.seconds),
                     rate(one), rate(other));
}

// "; 24 registers per thread and 100 % occupancy against 72 and 37.5 %"; empty if unknown.
std::string residency_text(const LedgerRow& row) {
  const Speed &one = row.variant_speed, &other = row.baseline_speed;
  if (!one.registers || !other.registers) return "";
  return fmt::format("; {} registers per thread and {} occupancy against {} and {}", *one.registers,
                     format_percent(one.occupancy_percent.value_or(0)), *other.registers,
                     format_percent(other.occupancy_percent.value_or(0)));
}

// In the claim's form: how many times as fast, how many times the time, or a share.
std::string interval_text(const LedgerRow& row) {
  measure::Ratio effect = effect_of(row.figure, row.ratio);
  if (row.figure.kind == measure::ClaimedFigure::kShare)
    return fmt::format("{:.0f} % [{:.0f} to {:.0f} %]", 100 * effect.value, 100 * effect.low, 100 * effect.high);
  return fmt::format("{:.2f} × [{:.2f} to {:.2f}]{}", effect.value, effect.low, effect.high,
                     row.figure.kind == measure::ClaimedFigure::kCost ? " the time" : "");
}

cli::Meaning meaning_of(measure::Judgement verdict) {
  switch (verdict) {
    case measure::Judgement::kConfirmed:
    case measure::Judgement::kLarger: return cli::Meaning::kOk;
    case measure::Judgement::kContradicted: return cli::Meaning::kFailed;
    default: return cli::Meaning::kWarning;
  }
}

std::string measured_text(const LedgerRow& row, size_t width) {
  std::string head = fmt::format("{}  {}: {} against {}\n", row.claim.id, row.experiment, row.variant, row.baseline);
  std::string judged = fmt::format("     {}: measured {}, claimed {}{}\n",
                                   cli::painted(meaning_of(row.verdict), verdict_name(row.verdict)), interval_text(row),
                                   figure_text(row.figure), row.converged ? "" : " (the interval stayed wide)");
  return head + judged +
         cli::paragraph("     ",
                        fmt::format("{}: {}; {}{}.", row.title, rates_text(row), row.explanation, residency_text(row)),
                        5, width);
}

}  // namespace

ListedClaims listed(std::span<const measure::Claim> claims) {
  ListedClaims all;
  for (const measure::Claim& claim : claims) all.claims.push_back({claim, experiments_of(claim)});
  return all;
}

std::string claims_text(const ListedClaims& claims) {
  cli::OwnColumn where{"tested on, or elsewhere by", {}, "l2"};
  for (const auto& [claim, experiments] : claims.claims)
    where.cells.push_back(claim.elsewhere.empty() ? fmt::format("{}", fmt::join(claim.on, ", ")) : claim.elsewhere);
  return cli::figure_table(schema_of<ListedClaim>(), json_of(claims.claims), {}, {.last = {where}});
}

std::string ledger_text(const Ledger& ledger) {
  const size_t width = cli::prose_columns();
  std::string text =
      fmt::format("device    {}\nmeasured  ratios of speed with their 95 % interval, interleaved\n\n", ledger.device);
  if (!ledger.note.empty())
    text.insert(text.find("\n\n") + 1, cli::paragraph("note      ", ledger.note, 10, width) + "\n");
  Rows untested, unmeasured;
  for (const LedgerRow& row : ledger.rows) {
    if (!row.experiment.empty()) {
      text += measured_text(row, width) + "\n";
      continue;
    }
    Rows& rows = row.verdict == measure::Judgement::kNotMeasured ? unmeasured : untested;
    std::vector<std::string> cells = {row.claim.id, row.claim.statement, row.explanation};
    // Comparisons of one claim that lack the same have one line.
    if (std::ranges::find(rows, cells) == rows.end()) rows.push_back(std::move(cells));
  }
  if (!unmeasured.empty()) text += cli::table({"", "not measured", "why"}, unmeasured, "lll") + "\n";
  if (!untested.empty()) text += cli::table({"", "not testable here", "why, or by what it is tested"}, untested, "lll");
  if (machine::disturbed(ledger.disturbance))
    text += cli::paragraph(
        "", machine::sentence(ledger.disturbance) + ". Ratios are interleaved; their intervals are wider.", 0, width);
  if (ledger.interrupted) text += "interrupted: the other claims were not tested\n";
  while (text.ends_with("\n\n")) text.pop_back();  // one empty line before what to do next
  return text;
}

// Beside the list's columns: what an occupancy is of, itself (0 too), and what would raise it.
std::string occupancy_text(const Occupancies& occupancies) {
  cli::OwnColumn cc{"cc", {}}, architecture{"architecture", {}, "l6"}, percent{"occupancy", {}, "r"},
      more{"one block more with", {}, "l7"};
  for (const Occupancy& one : occupancies.results) {
    cc.cells.push_back(one.capability);
    architecture.cells.push_back(one.architecture);
    percent.cells.push_back(format_percent(one.percent));
    more.cells.push_back(one.registers_for_more ? fmt::format("{} registers", *one.registers_for_more)
                         : one.shared_for_more  ? format_bytes(*one.shared_for_more) + " shared"
                                                : "-");
  }
  return cli::figure_table(schema_of<Occupancy>(), json_of(occupancies.results), {},
                           {{cc, architecture, percent}, {more}});
}

}  // namespace ridge::lab

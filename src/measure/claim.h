// Claims of the guides as a table (data/claims.csv), and when a measurement confirms one. Pure; immutable values.
//
// Guides: A GPU notes, B GPU performance optimisation, C a GPU guide, D buying and cloud, E RTX 4090 for AI research.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "base/result.h"
#include "measure/interleave.h"

namespace ridge::measure {

// A claim's promise, as a ratio of speeds or a share of a limit.
struct ClaimedFigure {
  enum Kind {
    kGain,   // the better way is this many times as fast
    kCost,   // the dearer way takes this many times as long
    kShare,  // of the limit
  };
  Kind kind = kGain;
  double low = 1;
  std::optional<double> high;  // absent: anything above `low`
};
NameTable<ClaimedFigure::Kind> names_of(ClaimedFigure::Kind);  // "gain", "cost", "share"
std::string figure_text(const ClaimedFigure& figure);          // "1.10 to 1.30 ×", "more than 1 ×", "60 to 70 %"
void visit_fields(auto& visit, Is<ClaimedFigure> auto& figure) {
  visit("low", figure.low);
  visit("high", figure.high, means("null: any more"));
  visit.derived("text", Derived{figure_text(figure), Figure().column("as a ratio")});
}

struct Claim {
  std::string id;         // "L04"
  std::string statement;  // in one line
  std::string source;     // guide and section
  std::optional<ClaimedFigure> figure;
  std::vector<std::string> on;  // where a lab experiment could test it: "cuda", "opencl", "cpu"
  std::string elsewhere;        // what checks it instead; empty: the lab
};

Result<std::vector<Claim>> claims();
// Errors name the known ones.
Result<Claim> find_claim(std::span<const Claim> all, std::string_view id);

enum class Judgement { kConfirmed, kLarger, kSmaller, kContradicted, kNotTestable, kNotMeasured };
inline constexpr std::array kJudgements = {Judgement::kConfirmed,    Judgement::kLarger,      Judgement::kSmaller,
                                           Judgement::kContradicted, Judgement::kNotTestable, Judgement::kNotMeasured};
NameTable<Judgement> names_of(Judgement);
std::string_view verdict_name(Judgement verdict);  // "confirmed", …, "not testable here", "not measured"

// The quantity of the figure: for a gain or a share the measured one, for a cost how much longer the dearer way takes.
Ratio effect_of(const ClaimedFigure& figure, const Ratio& measured);

// confirmed: the interval meets the claimed range and excludes "no effect". larger, smaller: the interval lies wholly
// beyond or short of the range. contradicted: the effect is the other way round. Not testable: too wide, that is, it
// meets the range and also allows no effect, or it lies partly outside the range and is wider than kTooWide. A claim of
// one number stands for a range of kAround to either side; of "more than" a number, less than kAround beyond it is
// short of it.
constexpr double kTooWide = 1.5;  // high / low
constexpr double kAround = 0.05;
Judgement judge(const ClaimedFigure& figure, const Ratio& measured);

}  // namespace ridge::measure

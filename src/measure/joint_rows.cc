#include "measure/joint_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>

#include "base/element.h"
#include "measure/inputs.h"

namespace ridge::measure {
namespace {

constexpr int64_t kMostRows = 8;
constexpr std::chrono::milliseconds kMoreTime{500};
constexpr int64_t kGuesses[] = {32, 7, 64, 224, 1};  // of open dimensions; two that run are enough
constexpr float kWide = 200;                         // values of the second set lie within ± half of it
// The same kernels on the same row: differences come from an order of summation that changes from run to run.
constexpr double kSameRun = 1e-6, kRepeats = 4;
// Kernels for other numbers of rows round sums in another order, the result of a layer by a few unit roundoffs u
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, 3.1). u is 2⁻²⁴ for FP32, 2⁻¹¹ for FP16 and
// TF32, 2⁻⁸ for BF16 and steps of INT8.
constexpr double kRoundoffs = 8, kLeastTolerance = 1e-3;

double tolerance_of(Precision precision, const std::string& device) {
  double roundoff = device == "cpu" ? 0x1p-24 : 0x1p-11;
  if (precision == Precision::kFp16) roundoff = 0x1p-11;
  if (precision != Precision::kFp32 && precision != Precision::kFp16) roundoff = 0x1p-8;
  return std::max(kLeastTolerance, kRoundoffs * roundoff);
}

// Largest difference of two rows over the largest value; endless where one is not a number and the other is.
double difference_of(DataType type, std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0) return 0;
  if (a.size() != b.size() || !is_floating(type)) return std::numeric_limits<double>::infinity();
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.size() / data_type_size(type); ++i) {
    const double x = element(type, a, i), y = element(type, b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
      continue;
    }
    if (!std::isfinite(x - y)) return std::numeric_limits<double>::infinity();
    largest = std::max({largest, std::abs(x), std::abs(y)});
    difference = std::max(difference, std::abs(x - y));
  }
  return difference > 0 ? difference / largest : 0;
}

// [bytes] of `count` strings.
size_t size_of_strings(std::span<const std::byte> block, int64_t count) {
  size_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    std::memcpy(&length, block.data() + at, sizeof length);
    at += sizeof length + length;
  }
  return at;
}

std::span<const std::byte> row_of(const engine::Output& output, int64_t row) {
  const int64_t rows = output.shape[0];
  if (output.type != DataType::kBytes) {
    const size_t size = output.data.size() / static_cast<size_t>(rows);
    return output.data.subspan(static_cast<size_t>(row) * size, size);
  }
  const int64_t each = element_count(output.shape).value_or(0) / rows;
  const std::span<const std::byte> rest = output.data.subspan(size_of_strings(output.data, row * each));
  return rest.first(size_of_strings(rest, each));
}

void widen(Tensor& tensor) {
  if (!is_floating(tensor.type)) return;
  for (size_t i = 0; i < tensor.data.size() / data_type_size(tensor.type); ++i)
    set_element(tensor.type, tensor.data.data(), i, (element(tensor.type, tensor.data.span(), i) - 0.5) * kWide);
}

class Check {
 public:
  Check(engine::Session& session, const model::Graph* graph, const JointRows& how, Clock& clock)
      : session_(session),
        graph_(graph),
        how_(how),
        clock_(clock),
        rows_(std::min(how.most, kMostRows)),
        tolerance_(tolerance_of(how.precision, session.info().device)),
        wanted_(session.signature().outputs.size()) {
    std::iota(wanted_.begin(), wanted_.end(), 0);
  }

  // Makes rows with that size of open dimensions, and runs one of them.
  Status begin(int64_t guess) {
    std::map<std::string, Shape> shapes;
    for (const TensorSpec& spec : session_.signature().inputs) {
      const auto given = how_.shapes.find(spec.name);
      Shape shape = given != how_.shapes.end() && given->second.size() == spec.shape.size() && !used_given_
                        ? given->second
                        : spec.shape;
      std::ranges::replace(shape, int64_t{-1}, guess);
      shape[0] = rows_;
      shapes[spec.name] = std::move(shape);
    }
    used_given_ = true;
    for (uint64_t set = 0; set < 2; ++set) {
      RIDGE_ASSIGN(sets_[set], make_inputs(session_.signature(), shapes, graph_, set + 1));
    }
    for (Tensor& tensor : sets_[1]) widen(tensor);
    RIDGE_TRY(run({{0, 0}}));
    if (more_until_ == TimePoint{}) more_until_ = clock_.now() + kMoreTime;
    return {};
  }
  bool late() const { return clock_.now() >= more_until_ || how_.stop.stop_requested(); }

  Status compare() {
    for (const int64_t count : std::set<int64_t>{2, std::min<int64_t>(3, rows_), rows_})
      if (count == 2 || !late()) RIDGE_TRY(compare(count));
    return {};
  }

 private:
  using Outputs = std::vector<engine::Output>;
  struct Row {
    size_t set = 0;
    int64_t row = 0;
  };

  // Even rows of one set, odd ones of another.
  static std::vector<Row> company(int64_t count, size_t even, size_t odd) {
    std::vector<Row> rows;
    for (int64_t row = 0; row < count; ++row) rows.push_back({row % 2 == 0 ? even : odd, row});
    return rows;
  }

  Status compare(int64_t count) {
    RIDGE_ASSIGN(const Outputs both, run(company(count, 0, 0)));
    RIDGE_TRY(compare_alone(both, 0, count));
    RIDGE_ASSIGN(const Outputs even, run(company(count, 0, 1)));
    RIDGE_TRY(compare_rows(both, even, 0, count));
    if (late()) return {};
    RIDGE_ASSIGN(const Outputs odd, run(company(count, 1, 0)));
    RIDGE_TRY(compare_rows(both, odd, 1, count));
    for (int64_t row = 1; row < count && !late(); ++row) RIDGE_TRY(compare_alone(both, row, count));
    if (late()) return {};
    RIDGE_ASSIGN(const Outputs wide, run(company(count, 1, 1)));
    RIDGE_TRY(compare_rows(odd, wide, 0, count));
    return compare_rows(even, wide, 1, count);
  }

  Status compare_alone(const Outputs& together, int64_t row, int64_t count) {
    RIDGE_ASSIGN(const Outputs alone, run({{0, row}}));
    const double apart = difference(together, row, alone, 0);
    if (apart <= tolerance_) return {};
    RIDGE_TRY(check_repeats(together, count));
    return invalid(fmt::format("a row gives other values in a run of {} rows than alone (by {:.2g} of the largest)",
                               count, apart));
  }

  // Rows first, first + 2, … of two runs, which are the same there.
  Status compare_rows(const Outputs& a, const Outputs& b, int64_t first, int64_t count) {
    double apart = 0;
    for (int64_t row = first; row < count; row += 2) apart = std::max(apart, difference(a, row, b, row));
    if (apart <= kSameRun) return {};
    double repeat = 0;
    for (const size_t set : {0, 1}) {
      RIDGE_ASSIGN(const double again, check_repeats(std::nullopt, count, set));
      repeat = std::max(repeat, again);
    }
    if (apart <= kRepeats * repeat) return {};
    return invalid(
        fmt::format("the values of a row depend on the other rows of its run (by {:.2g} of the largest)", apart));
  }

  // Difference of two runs of the same rows. An error beyond rounding. `before`: the first of them.
  Result<double> check_repeats(const std::optional<Outputs>& before, int64_t count, size_t set = 0) {
    Outputs first;
    if (!before) {
      RIDGE_ASSIGN(first, run(company(count, set, set)));
    }
    RIDGE_ASSIGN(const Outputs again, run(company(count, set, set)));
    double apart = 0;
    for (int64_t row = 0; row < count; ++row)
      apart = std::max(apart, difference(before ? *before : first, row, again, row));
    if (apart <= tolerance_) return apart;
    return invalid(fmt::format("the same input gives other values in every run (by {:.2g} of the largest)", apart));
  }

  static double difference(const Outputs& a, int64_t row_a, const Outputs& b, int64_t row_b) {
    double apart = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!std::equal(a[i].shape.begin() + 1, a[i].shape.end(), b[i].shape.begin() + 1, b[i].shape.end()))
        return std::numeric_limits<double>::infinity();
      apart = std::max(apart, difference_of(a[i].type, row_of(a[i], row_a), row_of(b[i], row_b)));
    }
    return apart;
  }

  Result<Outputs> run(const std::vector<Row>& rows) {
    std::vector<Tensor> joint;
    std::vector<TensorView> views;
    const auto count = static_cast<int64_t>(rows.size());
    for (size_t i = 0; i < sets_[0].size(); ++i) {
      const Tensor& model = sets_[0][i];
      const size_t size = model.data.size() / static_cast<size_t>(rows_);  // texts are equally long
      Tensor tensor{model.type, model.shape, Buffer(size * rows.size())};
      tensor.shape[0] = count;
      for (size_t row = 0; row < rows.size() && size > 0; ++row)
        std::memcpy(tensor.data.data() + row * size,
                    sets_[rows[row].set][i].data.data() + static_cast<size_t>(rows[row].row) * size, size);
      joint.push_back(std::move(tensor));
    }
    for (const Tensor& tensor : joint) views.push_back(tensor.view());
    views.resize(session_.signature().inputs.size());
    Outputs outputs(wanted_.size());
    if (Status ran = session_.run(views, wanted_, outputs); !ran)
      return wrap(std::move(ran).error(), fmt::format("a run of {} row(s)", count));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const engine::Output& output = outputs[i];
      if (output.shape.empty() || output.shape[0] != count)
        return invalid(fmt::format("{} row(s) in, output '{}' of shape {} out", count,
                                   session_.signature().outputs[i].name, shape_text(output.shape)));
    }
    return outputs;
  }

  engine::Session& session_;
  const model::Graph* graph_;
  const JointRows& how_;
  Clock& clock_;
  const int64_t rows_;  // of a set
  const double tolerance_;
  std::vector<int> wanted_;
  bool used_given_ = false;
  TimePoint more_until_{};
  std::vector<Tensor> sets_[2];  // of usual and of wide values
};

// Besides the first.
bool has_open_dimension(const engine::Signature& signature) {
  return std::ranges::any_of(signature.inputs, [](const TensorSpec& spec) {
    return std::find(spec.shape.begin() + 1, spec.shape.end(), -1) != spec.shape.end();
  });
}

}  // namespace

Status check_joint_rows(engine::Session& session, const model::Graph* graph, const JointRows& how, Clock& clock) {
  if (how.most < 2) return {};
  Check check(session, graph, how, clock);
  Status failed;
  int shown = 0;
  const bool open = has_open_dimension(session.signature());
  for (const int64_t guess : kGuesses) {
    if (shown == 2 || (shown > 0 && (!open || check.late())) || how.stop.stop_requested()) break;
    if (failed = check.begin(guess); !failed) {
      if (!open) return failed;
      continue;
    }
    RIDGE_TRY(check.compare());
    ++shown;
  }
  if (shown > 0) return {};
  if (failed) return Error{Code::kCancelled, "the check of joint rows was cancelled"};
  return wrap(std::move(failed).error(),
              "no size of its open dimensions that was tried can be run; give real ones by "
              "model_warmup in config.pbtxt");
}

}  // namespace ridge::measure

#include "measure/joint_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/fake_clock.h"

namespace ridge::measure {
namespace {

using Rows = std::vector<std::vector<float>>;

// x FP32 [-1, columns] → y, by a function of all rows of a run; `runs` counts them.
class RowSession : public engine::Session {
 public:
  RowSession(int64_t columns, std::function<Rows(const Rows&, int run)> function)
      : signature_{{{"x", DataType::kFp32, {-1, columns}}}, {{"y", DataType::kFp32, {-1, -1}}}},
        function_(std::move(function)) {}
  const engine::Signature& signature() const override { return signature_; }
  const engine::Info& info() const override { return info_; }
  Status run(std::span<const TensorView> inputs, std::span<const int>, std::span<engine::Output> outputs,
             engine::RunTimes*) override {
    const TensorView& x = inputs[0];
    const auto columns = static_cast<size_t>(x.shape[1]);
    if (refused != 0 && x.shape[1] == refused) return Error{Code::kFailed, "no such size"};
    Rows rows(static_cast<size_t>(x.shape[0]), std::vector<float>(columns));
    for (size_t row = 0; row < rows.size(); ++row)
      std::memcpy(rows[row].data(), x.data.data() + row * columns * sizeof(float), columns * sizeof(float));
    const Rows results = function_(rows, ++runs);
    auto block = std::make_shared<Buffer>(results.size() * (results.empty() ? 0 : results[0].size()) * sizeof(float));
    for (size_t row = 0; row < results.size(); ++row)
      std::memcpy(block->data() + row * results[0].size() * sizeof(float), results[row].data(),
                  results[row].size() * sizeof(float));
    const auto width = static_cast<int64_t>(results.empty() ? 0 : results[0].size());
    outputs[0] = {DataType::kFp32, {static_cast<int64_t>(results.size()), width}, block->span(), block};
    return {};
  }
  Result<std::vector<engine::NodeTime>> take_profile(int) override { return std::vector<engine::NodeTime>{}; }

  int64_t refused = 0;
  int runs = 0;

 private:
  engine::Signature signature_;
  engine::Info info_{"test", "1", "", "cpu", {}};
  std::function<Rows(const Rows&, int)> function_;
};

Status check(RowSession& session, int64_t most = 4) {
  FakeClock clock;
  return check_joint_rows(session, nullptr, {.most = most}, clock);
}

Status check(std::function<void(Rows&, int run)> change, int64_t columns = 3) {
  RowSession session(columns, [&](Rows rows, int run) {
    change(rows, run);
    return rows;
  });
  return check(session);
}

float sum(const Rows& rows) {
  float total = 0;
  for (const auto& row : rows)
    for (float value : row) total += value;
  return total;
}

TEST(JointRows, IndependentOnesMayRunTogether) {
  EXPECT_TRUE(check([](Rows& rows, int) {
    for (auto& row : rows)
      for (float& value : row) value = std::tanh(value) * 2;
  }));
  EXPECT_TRUE(check([](Rows& rows, int) {
    for (auto& row : rows) row[0] = std::nanf("");
  })) << "NaN equals NaN";
  EXPECT_TRUE(check([](Rows& rows, int) {
    for (auto& row : rows) row[0] *= 1 + 1e-5F * static_cast<float>(rows.size());
  })) << "kernels of other sizes round otherwise";
}

TEST(JointRows, ThatLookAtEachOtherMayNot) {
  EXPECT_FALSE(check([](Rows& rows, int) { rows[0][0] += 1e-3F * sum(rows); })) << "a little";
  EXPECT_FALSE(check([](Rows& rows, int) { rows.back()[0] += rows.front()[0]; })) << "one way";
  EXPECT_FALSE(check([](Rows& rows, int) {
    if (std::abs(sum(rows)) > 20)
      for (auto& row : rows) row[0] = 0;
  })) << "for some values only";
  EXPECT_FALSE(check([](Rows& rows, int) {
    for (auto& row : rows) row[0] /= static_cast<float>(rows.size());
  })) << "by their number";
  EXPECT_FALSE(check([](Rows& rows, int) {
    for (size_t i = 0; i < rows.size(); ++i) rows[i][0] += static_cast<float>(i);
  })) << "by their place";
  EXPECT_FALSE(check([](Rows& rows, int) {
    if (rows.size() > 2) rows[0][0] += rows[1][0];
  })) << "from three on";
}

TEST(JointRows, ThatComeOutInAnotherNumberMayNot) {
  RowSession found(3, [](Rows rows, int) {
    std::erase_if(rows, [](const auto& row) { return row[0] < 0.5F; });
    return rows;
  });
  EXPECT_FALSE(check(found));
}

TEST(JointRows, OfAModelThatIsRandomMayNotAndItsNoiseIsAllowedFor) {
  const Status random = check([](Rows& rows, int run) { rows[0][0] = static_cast<float>(run); });
  ASSERT_FALSE(random);
  EXPECT_NE(random.error().message.find("every run"), std::string::npos) << random.error().message;
  EXPECT_TRUE(check([](Rows& rows, int run) {
    for (auto& row : rows) row[0] *= run % 2 == 0 ? 1 : 1 + 1e-5F;
  }));
}

TEST(JointRows, AreRunInTwoSizesOfOpenDimensionsThatTheModelTakes) {
  std::vector<size_t> sizes;
  RowSession open(-1, [&](const Rows& rows, int) {
    sizes.push_back(rows[0].size());
    return rows;
  });
  open.refused = 32;
  EXPECT_TRUE(check(open));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  EXPECT_EQ(sizes, (std::vector<size_t>{7, 64}));
}

TEST(JointRows, AreNotRunWhereOneIsTheMostAndFewTimesWhereRunsAreLong) {
  FakeClock clock;
  RowSession session(3, [&](const Rows& rows, int) {
    clock.sleep_until(clock.now() + std::chrono::seconds(1));
    return rows;
  });
  EXPECT_TRUE(check_joint_rows(session, nullptr, {.most = 1}, clock));
  EXPECT_EQ(session.runs, 0);
  EXPECT_TRUE(check_joint_rows(session, nullptr, {.most = 8}, clock));
  EXPECT_EQ(session.runs, 4);
}

}  // namespace
}  // namespace ridge::measure

#include "serve/batch_bounds.h"

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "zoo/zoo.h"

namespace ridge::serve {
namespace {

constexpr uint64_t kRunNs = 1'000'000'000;  // of a batch of one row, below

// 1 s per row, and a note of what was asked.
BoundFunction seconds_per_row(std::vector<int64_t>& asked) {
  return [&asked](const model::Graph& graph, Precision) {
    asked.push_back(graph.input_specs.front().spec.shape.front());
    return static_cast<double>(asked.back());
  };
}

BatchStatistic runs(uint64_t rows, uint64_t count) {
  BatchStatistic batch;
  batch.batch_size = rows;
  batch.compute_infer.count = count;
  return batch;
}

class BatchBoundsTest : public testing::Test {
 protected:
  std::string write(const std::string& model) const {
    const std::string file = folder_.path() + "/model.onnx";
    EXPECT_TRUE(zoo::make(model, {}, file));
    return file;
  }
  static std::unique_ptr<BatchBounds> bounds_of(const std::string& file, BoundFunction bound) {
    Result<model::UnboundModel> model = model::UnboundModel::read(file);
    EXPECT_TRUE(model);
    return std::make_unique<BatchBounds>(std::move(*model), Precision::kFp32, std::move(bound));
  }
  TemporaryFolder folder_ = *TemporaryFolder::make();
  std::vector<int64_t> asked_;
};

TEST_F(BatchBoundsTest, CountEachRunByItsRowsAndAskOncePerNumberOfRows) {
  const auto bounds = bounds_of(write("identity"), seconds_per_row(asked_));
  ASSERT_NE(bounds, nullptr);
  EXPECT_EQ(bounds->of({}), 0u) << "nothing ran";
  const std::vector<BatchStatistic> batches = {runs(1, 2), runs(8, 3)};
  EXPECT_EQ(bounds->of(batches), (2 + 3 * 8) * kRunNs);
  EXPECT_EQ(bounds->of(batches), (2 + 3 * 8) * kRunNs);
  EXPECT_EQ(asked_, (std::vector<int64_t>{1, 8}));
}

TEST_F(BatchBoundsTest, OneUnknownRunLeavesTheSumUnknown) {
  const auto bounds = bounds_of(write("identity"), [](const model::Graph& graph, Precision) {
    return graph.input_specs.front().spec.shape.front() == 4 ? 0.0 : 1.0;
  });
  ASSERT_NE(bounds, nullptr);
  EXPECT_EQ(bounds->of(std::vector{runs(1, 1)}), kRunNs);
  EXPECT_EQ(bounds->of(std::vector{runs(1, 1), runs(4, 1)}), std::nullopt);
}

}  // namespace
}  // namespace ridge::serve

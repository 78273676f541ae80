#include "cli/product_model.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "model/reader.h"

namespace ridge::cli {
namespace {

TEST(ProductModel, IsAnOnnxFileWithOneProduct) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/product.onnx";
  ASSERT_TRUE(write_file_atomically(path, product_model(300, 20, 7)).ok());
  Result<model::Graph> graph = model::read(path, {});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->input_specs.size(), 2u);
  EXPECT_EQ(graph->input_specs[0].spec.shape, (Shape{300, 20}));
  EXPECT_EQ(graph->input_specs[1].spec.shape, (Shape{20, 7}));
}

}  // namespace
}  // namespace ridge::cli

#include "checkpoint/graph_folder.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::checkpoint {
namespace {

class GraphFolder : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(path() + "/" + file, text).ok());
  }
  const std::string& path() const { return folder_->path(); }
  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
};

TEST_F(GraphFolder, IsOneWithAGraphAndNoSafetensors) {
  EXPECT_FALSE(is_graph_folder(path()));
  write("openvino_model.xml", "<net/>");
  EXPECT_TRUE(is_graph_folder(path()));
  write("model.safetensors", "");
  EXPECT_FALSE(is_graph_folder(path()));
}

TEST_F(GraphFolder, ItsFormIsTheTypeOfMostValues) {
  write("openvino_model.xml", R"(<net><layer><data shape="?,?" element_type="i64"/></layer>
    <layer><data element_type="i64" shape="2" offset="0" size="16"/></layer>
    <layer><data element_type="u4" shape="40" offset="16" size="20" /></layer>
    <layer><data element_type="f16" shape="16" offset="36" size="32" /></layer></net>)");
  const Result<GraphConstants> constants = graph_constants(path());
  ASSERT_TRUE(constants.ok()) << constants.error().message;
  EXPECT_EQ(constants->type, "u4") << "40 values, though f16 has more bytes";
  EXPECT_EQ(constants->bytes, 16 + 20 + 32);
}

TEST_F(GraphFolder, AFileWithoutConstantsIsNamed) {
  for (const char* text : {"", "<data", "<data element_type=\"f32\" offset=\"0\" size=\"-4\"/>",
                           "<data element_type=\"f32\" offset=\"0\" size=\"99999999999999999999\"/>"}) {
    write("openvino_model.xml", text);
    const Result<GraphConstants> constants = graph_constants(path());
    ASSERT_FALSE(constants.ok()) << text;
    EXPECT_NE(constants.error().message.find("openvino_model.xml"), std::string::npos);
  }
}

}  // namespace
}  // namespace ridge::checkpoint

#include "serve/repository.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "serve/test_session.h"

namespace ridge::serve {
namespace {

TEST(Repository, ModelNamesAreOneFolder) {
  for (const std::string name : {"", " ", ".", "..", "a/b", "/a"}) EXPECT_FALSE(check_model_name(name)) << name;
  EXPECT_FALSE(check_model_name(std::string("a\0b", 3)));
  EXPECT_FALSE(check_model_name(std::string(256, 'x')));
  for (const std::string name : {"a", "a.b", "..a", "a-b_c", "\xc3\xa9", "a\\b"})
    EXPECT_TRUE(check_model_name(name).ok()) << name;
}

TEST(Repository, PathsStayInside) {
  for (const std::string path : {"", "/etc/passwd", "../x", "a/../b", "a/..", "a/", "./a"})
    EXPECT_FALSE(check_relative_path(path)) << path;
  EXPECT_FALSE(check_relative_path("1/" + std::string(256, 'x')));
  EXPECT_TRUE(check_relative_path("1/model.onnx").ok());
}

TEST(Repository, ListsModelsAndRefusesTheSameNameTwice) {
  TestFolder first, second;
  first.write("b/1/model.onnx", "");
  first.write("a/1/model.onnx", "");
  first.write(".hidden/1/model.onnx", "");
  first.write("file.txt", "");
  second.write("c/1/model.onnx", "");
  auto models = scan_repositories({first.path(), second.path()});
  ASSERT_TRUE(models);
  ASSERT_EQ(models->size(), 3u);
  EXPECT_EQ((*models)[0].name, "a");
  EXPECT_EQ((*models)[2].path, second.path() + "/c");
  second.write("a/1/model.onnx", "");
  EXPECT_FALSE(scan_repositories({first.path(), second.path()}));
  EXPECT_FALSE(scan_repositories({first.path() + "/nowhere"}));
  EXPECT_FALSE(find_model({first.path()}, "../" + std::filesystem::path(second.path()).filename().string()));
}

TEST(Repository, KnowsWhatOfAFolderIsALanguageModel) {
  TestFolder folder;
  const auto found = [&](const std::string& name) { return checkpoint_of(folder.path() + name).value_or("none"); };
  folder.write("a/1/model.gguf", "");
  EXPECT_EQ(found("/a/1"), folder.path() + "/a/1/model.gguf");
  folder.write("a/1/config.json", "{}");
  EXPECT_EQ(found("/a/1"), folder.path() + "/a/1/model.gguf") << "a description beside it";
  folder.write("a/1/model.safetensors", "");
  EXPECT_EQ(found("/a/1"), folder.path() + "/a/1") << "its weights are here";
  folder.write("b/1/config.json", "{}");
  folder.write("b/1/other.gguf", "");
  EXPECT_EQ(found("/b/1"), folder.path() + "/b/1");
  folder.write("b/1/model.onnx", "");
  EXPECT_EQ(found("/b/1"), "none");
  folder.write("d/config.json", "{}");
  folder.write("d/openvino_model.xml", "");
  folder.write("d/model.gguf", "");
  EXPECT_EQ(found("/d"), folder.path() + "/d");
  EXPECT_EQ(scan_repositories({folder.path() + "/d"})->front().name, "d") << "by itself";
  folder.write("c.gguf", "");
  EXPECT_EQ(found("/c.gguf"), folder.path() + "/c.gguf");
  EXPECT_EQ(scan_repositories({folder.path() + "/c.gguf"})->front().name, "c");
}

TEST(Repository, AFileIsAModelOfItsName) {
  TestFolder folder;
  folder.write("a.onnx", "a");
  const std::string file = folder.path() + "/a.onnx";
  auto models = scan_repositories({file});
  ASSERT_TRUE(models);
  ASSERT_EQ(models->size(), 1u);
  EXPECT_EQ(models->front().name, "a");
  EXPECT_EQ(find_model({file}, "a")->path, file);
  EXPECT_FALSE(find_model({file}, "b"));
  EXPECT_EQ(list_versions(file), std::vector<int64_t>{1});
  EXPECT_EQ(*find_model_file(file, 1, "model.onnx"), file);
  EXPECT_FALSE(*read_config_file(file));
  EXPECT_NE(fingerprint(version_path(file, 1)), "");
  folder.write("b.txt", "");
  EXPECT_FALSE(scan_repositories({folder.path() + "/b.txt"}));
}

// "a b -c": models a and b, and c that is passed over.
std::string models_in(const TestFolder& folder) {
  std::string text;
  const auto models = scan_repositories({folder.path()});
  if (!models) return models.error().message;
  for (const ModelDirectory& model : *models)
    text += (text.empty() ? "" : " ") + (model.passed_over.empty() ? model.name : "-" + model.name);
  return text;
}

TEST(Repository, FilesAndFoldersAreModelsWhateverElseIsThere) {
  TestFolder folder;
  folder.write("b.onnx", "");
  folder.write("a.onnx", "");
  folder.write(".c.onnx", "");
  folder.write("a.onnx.data", "");
  EXPECT_EQ(models_in(folder), "a b");
  folder.write("d/1/model.onnx", "");
  folder.write("llm/config.json", "{}");
  folder.write("llm/model.safetensors", "");
  folder.write("broken/config.pbtxt", "{{{");
  EXPECT_EQ(models_in(folder), "a b broken d llm");
  std::filesystem::create_directory(folder.path() + "/empty");
  folder.write(".git/config", "");
  folder.write("lost+found/1/model.onnx", "");
  folder.write("pictures/1.jpg", "");
  folder.write("digits/7/0.png", "");
  folder.write("settings/config.json", "{}");
  folder.write("backup/old.onnx", "");
  folder.write(" /1/model.onnx", "");
  EXPECT_EQ(models_in(folder), "-  a b -backup broken d -digits -empty llm -pictures -settings");
  EXPECT_TRUE(find_model({folder.path()}, "a")->passed_over.empty());
  EXPECT_FALSE(find_model({folder.path()}, "pictures")->passed_over.empty());
}

TEST(Repository, AModelIsAFolderBeforeAFileOfItsName) {
  TestFolder folder;
  folder.write("a.onnx", "");
  folder.write("a/notes.txt", "");
  EXPECT_EQ(models_in(folder), "a -a");
  EXPECT_EQ(find_model({folder.path()}, "a")->path, folder.path() + "/a.onnx");
  folder.write("a/1/model.onnx", "");
  EXPECT_EQ(models_in(folder), "a -a");
  EXPECT_EQ(find_model({folder.path()}, "a")->path, folder.path() + "/a");
}

TEST(Repository, OfTwoFilesOfOneNameTheFirstIsServed) {
  TestFolder folder;
  for (const char* name : {"a.onnx", "a.gguf", "b.onnx"}) folder.write(name, "");
  EXPECT_EQ(models_in(folder), "a -a b");
  EXPECT_EQ(find_model({folder.path()}, "a")->path, folder.path() + "/a.gguf");
}

// Its load says what it lacks.
TEST(Repository, AFolderWithAModelsFileButNoVersionIsAModelAmongFolders) {
  TestFolder folder;
  folder.write("a/model.onnx", "");
  folder.write("b/1/model.plan", "");
  std::filesystem::create_directories(folder.path() + "/c/1");
  EXPECT_EQ(models_in(folder), "a b c");
}

TEST(Repository, ACheckpointIsAModelWhateverFormsLieBesideIt) {
  TestFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", "");
  folder.write("onnx/model.onnx", "");
  folder.write("original/params.json", "{}");
  EXPECT_EQ(models_in(folder), std::filesystem::path(folder.path()).filename().string());
}

TEST(Repository, VersionsAreNumbersWithoutLeadingZero) {
  TestFolder folder;
  for (const char* name : {"2", "10", "01", "0", "x", "3a", "-4", ".5", "99999999999999999999"})
    folder.write(std::string(name) + "/model.onnx", "");
  folder.write("7", "a file");
  EXPECT_EQ(list_versions(folder.path()), (std::vector<int64_t>{2, 10}));
}

// Stands for a folder that this user may not read, which root cannot have.
TEST(Repository, AFolderThatCannotBeReadIsNotTakenForAnEmptyOne) {
  TestFolder folder;
  std::filesystem::create_directory_symlink("model", folder.path() + "/model");
  const Status unreadable = check_readable(folder.path() + "/model");
  ASSERT_FALSE(unreadable.ok());
  EXPECT_EQ(unreadable.error().code, Code::kFailed);
  EXPECT_NE(unreadable.error().message.find("symbolic links"), std::string::npos) << unreadable.error().message;
  std::filesystem::create_directory_symlink("1", folder.path() + "/1");
  const auto file = find_model_file(folder.path(), 1, "model.onnx");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::kFailed) << file.error().message;
  EXPECT_TRUE(check_readable(folder.path()).ok());
}

TEST(Repository, ATextThatIsAPipeIsNotWaitedFor) {
  TestFolder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/config.pbtxt").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder.path() + "/labels.txt").c_str(), 0600), 0);
  EXPECT_EQ(read_config_file(folder.path()).error().code, Code::kInvalid);
  EXPECT_EQ(read_labels(folder.path(), "labels.txt").error().code, Code::kInvalid);
}

TEST(Repository, FindsAModelFileOrTheOneInAFolderOfItsName) {
  TestFolder folder;
  folder.write("1/model.onnx", "");
  folder.write("2/model.onnx/model.onnx", "");
  EXPECT_EQ(*find_model_file(folder.path(), 1, "model.onnx"), folder.path() + "/1/model.onnx");
  EXPECT_EQ(*find_model_file(folder.path(), 2, "model.onnx"), folder.path() + "/2/model.onnx/model.onnx");
  EXPECT_EQ(find_model_file(folder.path(), 3, "model.onnx").error().code, Code::kNotFound);
  EXPECT_FALSE(find_model_file(folder.path(), 1, "../2/model.onnx"));
}

TEST(Repository, ReadsLabelsLineByLine) {
  TestFolder folder;
  folder.write("labels.txt", "cat\r\ndog\n\nbird");
  EXPECT_EQ(*read_labels(folder.path(), "labels.txt"), (std::vector<std::string>{"cat", "dog", "", "bird"}));
  EXPECT_FALSE(read_labels(folder.path(), "none.txt"));
}

TEST(Repository, AFingerprintChangesWithTheFiles) {
  TestFolder folder;
  folder.write("1/model.onnx", "a");
  std::string before = fingerprint(folder.path());
  EXPECT_EQ(fingerprint(folder.path()), before);
  folder.write("1/model.onnx", "ab");
  EXPECT_NE(fingerprint(folder.path()), before);
  EXPECT_EQ(fingerprint(folder.path() + "/none"), "");
}

TEST(RepositoryWatch, SaysWhatIsNewChangedAndGone) {
  const RepositoryView now = {{"same", "1"}, {"changed", "2"}, {"new", "1"}};
  RepositoryChanges changes = compare_views({{"same", "1"}, {"changed", "1"}, {"gone", "1"}}, now, now);
  EXPECT_FALSE(changes.settling);
  EXPECT_EQ(changes.load, (std::vector<std::string>{"changed", "new"}));
  EXPECT_EQ(changes.unload, (std::vector<std::string>{"gone"}));
}

TEST(RepositoryWatch, WaitsForModelsThatAreStillBeingWritten) {
  const RepositoryView loaded = {{"same", "1"}, {"changed", "1"}};
  const RepositoryView now = {{"same", "1"}, {"changed", "3"}, {"new", "1"}, {"whole", "5"}};
  const RepositoryChanges changes = compare_views(loaded, {{"same", "1"}, {"changed", "2"}, {"whole", "5"}}, now);
  EXPECT_EQ(changes.load, (std::vector<std::string>{"whole"}));
  EXPECT_TRUE(changes.settling);
}

TEST(OverrideFiles, LiveAsLongAsTheirOwner) {
  std::string path;
  {
    auto files = write_override_files({{"1/model.onnx", "abc"}, {"labels.txt", "x"}});
    ASSERT_TRUE(files) << files.error().message;
    path = (*files)->path();
    EXPECT_EQ(std::filesystem::file_size(path + "/1/model.onnx"), 3u);
    auto permissions = std::filesystem::status(path).permissions();
    EXPECT_EQ(permissions & std::filesystem::perms::others_all, std::filesystem::perms::none);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(write_override_files({{"../evil", "x"}}));
}

}  // namespace
}  // namespace ridge::serve

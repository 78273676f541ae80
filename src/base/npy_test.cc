#include "base/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"

namespace ridge {
namespace {

// A version 1.0 file with that header and data.
std::string file_of(const std::string& header, const std::string& data) {
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\x00';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

Result<Tensor> read(const std::string& file) { return read_npy(std::as_bytes(std::span(file)), "a.npy"); }

// Saved by NumPy 2.4; also the seeds of the fuzz target.
Result<Tensor> saved(const std::string& name) {
  Result<std::string> file = read_file(RIDGE_SOURCE_DIR "/tests/corpus/npz/" + name);
  if (!file) return file.error();
  return read(*file);
}

template <typename T>
std::vector<T> values(const Tensor& tensor) {
  std::vector<T> result(tensor.data.size() / sizeof(T));
  std::memcpy(result.data(), tensor.data.data(), tensor.data.size());
  return result;
}

TEST(Npy, ColumnMajorArrayBecomesRowMajor) {
  Result<Tensor> array = saved("column_major.npy");
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->type, DataType::kInt32);
  EXPECT_EQ(array->shape, (Shape{2, 3}));
  EXPECT_EQ(values<int32_t>(*array), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, BigEndianArrayBecomesLittleEndian) {
  Result<Tensor> array = saved("big_endian.npy");
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(values<int16_t>(*array), (std::vector<int16_t>{1, 256}));
}

TEST(Npy, ScalarHasNoDimensions) {
  Result<Tensor> array = saved("scalar.npy");
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->shape, Shape{});
  EXPECT_EQ(values<double>(*array), std::vector<double>{2.5});
}

TEST(Npy, UnicodeStringsBecomeUtf8) {
  Result<Tensor> array = saved("unicode.npy");
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->type, DataType::kBytes);
  const std::string block(reinterpret_cast<const char*>(array->data.data()), array->data.size());
  EXPECT_EQ(block, std::string("\x01\0\0\0a\x09\0\0\0", 9) + "ü€😀");
}

TEST(Npy, WhatIsWrittenReadsBackInEveryType) {
  const std::vector<std::byte> bytes(48, std::byte{1});
  for (DataType type : {DataType::kBool, DataType::kUint8, DataType::kUint16, DataType::kUint32, DataType::kUint64,
                        DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64, DataType::kFp16,
                        DataType::kFp32, DataType::kFp64, DataType::kBf16}) {
    const Shape shape = {2, static_cast<int64_t>(24 / data_type_size(type))};
    Result<std::string> file = write_npy({type, shape, bytes});
    ASSERT_TRUE(file) << file.error().message;
    Result<Tensor> array = read(*file);
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(array->type, type);
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(values<std::byte>(*array), bytes) << data_type_name(type);
  }
}

TEST(Npy, DataOfAWrittenFileIsAligned) {
  const std::vector<float> one = {1};
  Result<std::string> file = write_npy({DataType::kFp32, {1}, std::as_bytes(std::span(one))});
  ASSERT_TRUE(file);
  EXPECT_EQ((file->size() - sizeof(float)) % 64, 0u);
}

TEST(Npy, StringsThatNumpyCannotHoldAreRefused) {
  const std::string block("\x02\0\0\0a\0", 6);
  EXPECT_FALSE(write_npy({DataType::kBytes, {1}, std::as_bytes(std::span(block))}));
}

TEST(Npy, SaysWhatIsWrongWithAFile) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  const auto message = [](const std::string& file) {
    Result<Tensor> array = read(file);
    return array ? std::string("read") : array.error().message;
  };
  EXPECT_EQ(message(file_of(good, std::string(8, '\0'))), "read");
  EXPECT_NE(message("PK").find("not a .npy file"), std::string::npos);
  EXPECT_NE(message(file_of(good, "").substr(0, 9)).find("cut off"), std::string::npos);
  EXPECT_NE(message(file_of(good, std::string(7, '\0'))).find("7 bytes"), std::string::npos);
  EXPECT_NE(message(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "")).find("header"),
            std::string::npos);
  EXPECT_NE(message(file_of("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "")).find("'|O'"),
            std::string::npos);
}

// Rows 1 and 3 of a file, as values.
Result<Tensor> two_rows(const std::string& file) {
  const std::string path = testing::TempDir() + "/rows.npy";
  RIDGE_TRY(write_file_atomically(path, file));
  return read_npy_file(path, [](const Shape& shape) {
    EXPECT_EQ(shape, (Shape{4, 2}));
    return std::optional(std::vector<int64_t>{1, 3});
  });
}

TEST(Npy, ChosenRowsOfAFileAreThatOfTheWholeArray) {
  const std::string little = "{'descr': '<i2', 'fortran_order': False, 'shape': (4, 2), }\n";
  const std::string columns = "{'descr': '<i2', 'fortran_order': True, 'shape': (4, 2), }\n";
  const std::string big = "{'descr': '>i2', 'fortran_order': False, 'shape': (4, 2), }\n";
  const std::vector<int16_t> expected = {2, 3, 6, 7};
  for (const auto& [header, data] :
       {std::pair(little, std::vector<int16_t>{0, 1, 2, 3, 4, 5, 6, 7}),
        std::pair(columns, std::vector<int16_t>{0, 2, 4, 6, 1, 3, 5, 7}),
        std::pair(big, std::vector<int16_t>{0, 0x100, 0x200, 0x300, 0x400, 0x500, 0x600, 0x700})}) {
    const Result<Tensor> rows =
        two_rows(file_of(header, std::string(reinterpret_cast<const char*>(data.data()), 2 * data.size())));
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->shape, (Shape{2, 2})) << header;
    EXPECT_EQ(values<int16_t>(*rows), expected) << header;
  }
  EXPECT_EQ(two_rows(file_of(little, "too short")).error().code, Code::kInvalid);
}

TEST(Npy, AClaimedShapeTakesNoMemory) {
  const std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (4000000000, 4000000000), }";
  EXPECT_FALSE(read(file_of(header, "1234")));
  EXPECT_FALSE(read(file_of("{'descr': '|S0', 'fortran_order': False, 'shape': (4000000000,), }", "")));
}

}  // namespace
}  // namespace ridge

#include <gtest/gtest.h>
#include <base/errno_code.hpp>

namespace framewire::base {
namespace {

TEST(ErrnoCode, WhatPassesIsBusy) {
  for (const int error : {EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    EXPECT_TRUE(is_shortage(error)) << error;
    EXPECT_EQ(code_of_errno(error), StatusCode::kBusy) << error;
  }
}

TEST(ErrnoCode, WhatSomebodyHasToLookAtIsIoError) {
  for (const int error :
       {EACCES, EADDRINUSE, EDQUOT, EIO, EISDIR, ELOOP, ENOENT, ENOSPC, EPERM, EROFS, 0}) {
    EXPECT_FALSE(is_shortage(error)) << error;
    EXPECT_EQ(code_of_errno(error), StatusCode::kIoError) << error;
  }
}

}  // namespace
}  // namespace framewire::base

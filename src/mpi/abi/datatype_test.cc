#include "mpi/abi/datatype.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "mpi/abi/handle.h"

namespace alm::mpi {
namespace {

// An MPI library with derived types of 8 bytes, of which those of odd number turn their bytes
// round. Types from kSwaps on have 70,000 bytes, and swap two: that of kSwaps + n the bytes 5 and 5
// + n.
class Types {
 public:
  Types() { types_ = this; }
  ~Types() { types_ = nullptr; }
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;

  static constexpr std::int64_t kBytes = 8;
  static constexpr int kSwaps = 1000, kLongBytes = 70000;
  int packed = 0;  // calls of MPI_Pack

  static messages::MpiApi api();
  static MPI_Datatype type(int number) {
    return from_opaque<MPI_Datatype>(static_cast<std::uintptr_t>(number));
  }
  // As MPI_Type_free, with the attributes.
  void free(int number) {
    std::erase_if(attributes_, [&](const auto& one) {
      return one.first.first == static_cast<std::uintptr_t>(number);
    });
  }

 private:
  inline static Types* types_ = nullptr;  // MPI's functions have no place for it
  std::map<std::pair<std::uintptr_t, int>, void*> attributes_;
};

messages::MpiApi Types::api() {
  messages::MpiApi api;
  api.Type_get_true_extent_x = [](MPI_Datatype type, MPI_Count* lower, MPI_Count* extent) {
    *lower = 0;
    *extent = to_opaque(type) < kSwaps ? kBytes : kLongBytes;
    return MPI_SUCCESS;
  };
  api.Type_get_envelope = [](MPI_Datatype, int*, int*, int*, int* combiner) {
    *combiner = MPI_COMBINER_INDEXED;
    return MPI_SUCCESS;
  };
  api.Pack = [](const void* in, int, MPI_Datatype type, void* out, int, int* position, MPI_Comm) {
    ++types_->packed;
    const auto* from = static_cast<const std::byte*>(in);
    auto* to = static_cast<std::byte*>(out);
    *position = to_opaque(type) < kSwaps ? kBytes : kLongBytes;
    std::copy_n(from, *position, to);
    if (to_opaque(type) >= kSwaps) {
      std::swap(to[5], to[5 + to_opaque(type) - kSwaps]);
    } else if (to_opaque(type) % 2 == 1) {
      std::reverse(to, to + kBytes);
    }
    return MPI_SUCCESS;
  };
  api.Type_create_keyval = [](MPI_Type_copy_attr_function*, MPI_Type_delete_attr_function*,
                              int* keyval, void*) {
    *keyval = 17;
    return MPI_SUCCESS;
  };
  api.Type_set_attr = [](MPI_Datatype type, int keyval, void* value) {
    types_->attributes_[{to_opaque(type), keyval}] = value;
    return MPI_SUCCESS;
  };
  api.Type_get_attr = [](MPI_Datatype type, int keyval, void* value, int* found) {
    const auto at = types_->attributes_.find({to_opaque(type), keyval});
    *found = at != types_->attributes_.end() ? 1 : 0;
    if (*found != 0) std::memcpy(value, &at->second, sizeof(void*));
    return MPI_SUCCESS;
  };
  return api;
}

job::TypedBuffer buffer_of(int type) {
  return {nullptr, 1, to_opaque(Types::type(type)), Types::kBytes, Types::kBytes};
}

TEST(Datatype, BytesThatChangePlacesAreSeenWhicheverTheyAre) {
  Types types;
  const messages::MpiApi api = Types::api();
  const Packing packing{api, MPI_Comm{}, make_type_keyval(api)};
  const auto swaps = [](int apart) {
    const int number = Types::kSwaps + apart;
    return job::TypedBuffer{nullptr, 1, to_opaque(Types::type(number)), Types::kLongBytes,
                            Types::kLongBytes};
  };
  EXPECT_TRUE(is_contiguous(packing, swaps(0)));
  for (int apart = 1; apart < 1024; ++apart) {
    EXPECT_FALSE(is_contiguous(packing, swaps(apart))) << apart;
  }
  for (const int apart : {256 * 256, 256 * 256 + 1, 3 * 256}) {
    EXPECT_FALSE(is_contiguous(packing, swaps(apart))) << apart;
  }
}

TEST(Datatype, ADerivedTypeIsPackedOnceToSeeItsLayout) {
  Types types;
  const messages::MpiApi api = Types::api();
  const Packing packing{api, MPI_Comm{}, make_type_keyval(api)};
  for (int call = 0; call < 10; ++call) {
    EXPECT_TRUE(is_contiguous(packing, buffer_of(2)));
    EXPECT_FALSE(is_contiguous(packing, buffer_of(3)));
  }
  EXPECT_EQ(types.packed, 2);
}

TEST(Datatype, AHandleThatIsUsedAgainIsLookedIntoAgain) {
  Types types;
  const messages::MpiApi api = Types::api();
  const Packing packing{api, MPI_Comm{}, make_type_keyval(api)};
  EXPECT_TRUE(is_contiguous(packing, buffer_of(2)));
  types.free(2);
  EXPECT_TRUE(is_contiguous(packing, buffer_of(2)));
  EXPECT_EQ(types.packed, 2);
}

TEST(Datatype, WithoutAKeyvalEveryCallLooks) {
  Types types;
  messages::MpiApi api = Types::api();
  api.Type_create_keyval = [](MPI_Type_copy_attr_function*, MPI_Type_delete_attr_function*, int*,
                              void*) { return MPI_ERR_INTERN; };
  const Packing packing{api, MPI_Comm{}, make_type_keyval(api)};
  EXPECT_EQ(packing.known, MPI_KEYVAL_INVALID);
  for (int call = 0; call < 3; ++call) EXPECT_FALSE(is_contiguous(packing, buffer_of(3)));
  EXPECT_EQ(types.packed, 3);
}

}  // namespace
}  // namespace alm::mpi

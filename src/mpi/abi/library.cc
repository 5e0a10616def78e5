#include "mpi/abi/library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace alm::mpi {
namespace {

struct Abi {
  std::string_view soname;
  std::string_view name;
  std::string_view preload_as;  // for `allemande preload --mpi`
};

// Debian calls MPICH libmpich.so.12, PyPI and most vendors libmpi.so.12.
constexpr std::array<Abi, 4> kAbis{{{"libmpi.so.40", "Open MPI", "openmpi"},
                                    {"libmpi.so.12", "MPICH", "mpich"},
                                    {"libmpich.so.12", "MPICH", "mpich"},
                                    {"libmpi_abi.so.1", "the MPI standard ABI", "mpiabi"}}};

#if defined(OPEN_MPI)
constexpr std::string_view kThisAbi = "Open MPI";
#elif defined(MPI_ABI)
constexpr std::string_view kThisAbi = "the MPI standard ABI";
#else
constexpr std::string_view kThisAbi = "MPICH";
#endif

struct Found {
  std::string path;
  const Abi* abi = nullptr;
  std::uintptr_t base = 0;
};

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// The name under which the object was built, whatever link it was loaded through.
std::string_view soname_of(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const char* strings = nullptr;
    std::size_t offset = 0;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) {
        // Some loaders relocate this pointer in place, some do not.
        const auto address = entry->d_un.d_ptr;
        strings = reinterpret_cast<const char*>(
            address < object.dlpi_addr ? address + object.dlpi_addr : address);
      }
      if (entry->d_tag == DT_SONAME) offset = entry->d_un.d_val;
    }
    if (strings != nullptr && offset != 0) return strings + offset;
  }
  return {};
}

int inspect(dl_phdr_info* object, std::size_t, void* result) {
  if (object->dlpi_name == nullptr || object->dlpi_name[0] == '\0') return 0;
  std::string_view soname = soname_of(*object);
  if (soname.empty()) soname = base_name(object->dlpi_name);
  for (const Abi& abi : kAbis) {
    if (soname != abi.soname) continue;
    auto& found = *static_cast<Found*>(result);
    // With several loaded, the one this library was built for.
    if (found.abi == nullptr || abi.name == kThisAbi) {
      found = {object->dlpi_name, &abi, object->dlpi_addr};
    }
    return abi.name == kThisAbi ? 1 : 0;
  }
  return 0;
}

template <class Target>
bool look_up(void* handle, const char* name, Target& target) {
  target = reinterpret_cast<Target>(dlsym(handle, name));
  return target != Target{};
}

#if defined(OPEN_MPI)
// A program that refers to the library's data has its own copy of it (a copy relocation), which the
// library then uses too. The order here is the one in which the library itself is bound.
template <class Handle>
bool look_up_data(void* library, const char* name, Handle& handle) {
  return look_up(RTLD_DEFAULT, name, handle) || look_up(library, name, handle);
}
#endif

}  // namespace

std::unique_ptr<Library> Library::find() {
  Found found;
  dl_iterate_phdr(inspect, &found);
  if (found.abi == nullptr) return nullptr;
  void* handle = dlopen(found.path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return nullptr;

  std::unique_ptr<Library> library(new Library);
  library->path_ = found.path;
  library->base_ = found.base;
  library->resolve(handle);
  if (found.abi->name != kThisAbi) {
    library->unusable_ = "the library preloaded is for " + std::string(kThisAbi) +
                         ", but this program uses " + std::string(found.abi->name) + " (" +
                         found.path + "); preload the path that `allemande preload --mpi " +
                         std::string(found.abi->preload_as) + "` prints";
  }
  return library;
}

void Library::resolve(void* handle) {
  const auto require = [&](bool found, const char* name) {
    if (!found && unusable_.empty()) unusable_ = path_ + " has no " + name;
  };
#define ALM_MPI_RESOLVE(name) require(look_up(handle, "PMPI_" #name, api_.name), "PMPI_" #name);
  ALM_MPI_FUNCTIONS(ALM_MPI_RESOLVE)
#undef ALM_MPI_RESOLVE
#define ALM_MPI_RESOLVE_TOOL(name) look_up(handle, "PMPI_" #name, api_.name);
  ALM_MPI_TOOL_FUNCTIONS(ALM_MPI_RESOLVE_TOOL)
#undef ALM_MPI_RESOLVE_TOOL

  // Open MPI 4 has them as an extension.
  const auto look_up_persistent = [&](const std::string& name, void*& function) {
    if (!look_up(handle, ("PMPI_" + name).c_str(), function)) {
      look_up(handle, ("PMPIX_" + name).c_str(), function);
    }
  };
  look_up_persistent("Alltoall_init", api_.Alltoall_init);
  look_up_persistent("Alltoallv_init", api_.Alltoallv_init);
  look_up_persistent("Alltoallw_init", api_.Alltoallw_init);
  look_up_persistent("Alltoall_init_c", api_.Alltoall_init_c);
  look_up_persistent("Alltoallv_init_c", api_.Alltoallv_init_c);
  look_up_persistent("Alltoallw_init_c", api_.Alltoallw_init_c);
  look_up(handle, "PMPIX_Comm_get_failed", api_.Comm_get_failed);
  look_up(handle, "PMPIX_Comm_is_revoked", api_.Comm_is_revoked);
#if defined(OPEN_MPI)
  // The handles are addresses of data inside libmpi; mpi.h's macros would refer to them as symbols.
  require(look_up_data(handle, "ompi_mpi_comm_world", api_.comm_world), "ompi_mpi_comm_world");
  require(look_up_data(handle, "ompi_mpi_comm_self", api_.comm_self), "ompi_mpi_comm_self");
  require(look_up_data(handle, "ompi_mpi_comm_null", api_.comm_null), "ompi_mpi_comm_null");
  require(look_up_data(handle, "ompi_mpi_byte", api_.byte), "ompi_mpi_byte");
  require(look_up_data(handle, "ompi_mpi_uint64_t", api_.uint64), "ompi_mpi_uint64_t");
  require(look_up_data(handle, "ompi_mpi_int64_t", api_.int64), "ompi_mpi_int64_t");
  require(look_up_data(handle, "ompi_mpi_datatype_null", api_.datatype_null),
          "ompi_mpi_datatype_null");
  require(look_up_data(handle, "ompi_request_null", api_.request_null), "ompi_request_null");
  require(look_up_data(handle, "ompi_mpi_op_min", api_.min), "ompi_mpi_op_min");
  require(look_up_data(handle, "ompi_mpi_errors_return", api_.errors_return),
          "ompi_mpi_errors_return");
  require(look_up_data(handle, "ompi_mpi_errors_are_fatal", api_.errors_are_fatal),
          "ompi_mpi_errors_are_fatal");
  api_.unweighted = MPI_UNWEIGHTED;
#else
  look_up(handle, "PMPI_Alltoall_c", api_.Alltoall_c);  // absent before MPICH 4 (large_counts.h)
  look_up(handle, "PMPI_Alltoallv_c", api_.Alltoallv_c);
  look_up(handle, "PMPI_Alltoallw_c", api_.Alltoallw_c);
  look_up(handle, "PMPI_Ialltoall_c", api_.Ialltoall_c);
  look_up(handle, "PMPI_Ialltoallv_c", api_.Ialltoallv_c);
  look_up(handle, "PMPI_Ialltoallw_c", api_.Ialltoallw_c);
  look_up(handle, "PMPI_Neighbor_alltoall_c", api_.Neighbor_alltoall_c);
  look_up(handle, "PMPI_Neighbor_alltoallv_c", api_.Neighbor_alltoallv_c);
  look_up(handle, "PMPI_Neighbor_alltoallw_c", api_.Neighbor_alltoallw_c);
  look_up(handle, "PMPI_Ineighbor_alltoall_c", api_.Ineighbor_alltoall_c);
  look_up(handle, "PMPI_Ineighbor_alltoallv_c", api_.Ineighbor_alltoallv_c);
  look_up(handle, "PMPI_Ineighbor_alltoallw_c", api_.Ineighbor_alltoallw_c);
  look_up(handle, "PMPI_Type_get_envelope_c", api_.Type_get_envelope_c);
  look_up(handle, "PMPI_Type_get_contents_c", api_.Type_get_contents_c);
  api_.comm_world = MPI_COMM_WORLD;
  api_.comm_self = MPI_COMM_SELF;
  api_.comm_null = MPI_COMM_NULL;
  api_.byte = MPI_BYTE;
  api_.uint64 = MPI_UINT64_T;
  api_.int64 = MPI_INT64_T;
  api_.datatype_null = MPI_DATATYPE_NULL;
  api_.request_null = MPI_REQUEST_NULL;
  api_.min = MPI_MIN;
  api_.errors_return = MPI_ERRORS_RETURN;
  api_.errors_are_fatal = MPI_ERRORS_ARE_FATAL;
#if defined(MPI_ABI)
  api_.unweighted = MPI_UNWEIGHTED;
#else
  int* const* unweighted = nullptr;  // a variable of the library
  require(look_up(handle, "MPI_UNWEIGHTED", unweighted), "MPI_UNWEIGHTED");
  if (unweighted != nullptr) api_.unweighted = *unweighted;
#endif
#endif
}

bool Library::finalises_deaf() const {
  // "MPICH Version:      4.0.2 ... MPICH Device:       ch4:ucx ..."
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (api_.Get_library_version(text.data(), &length) != MPI_SUCCESS) return false;
  constexpr std::string_view kVersion = "MPICH Version:";
  const std::string_view all(text.data());
  const auto at = all.find(kVersion);
  if (at == std::string_view::npos || all.find("ch4:ucx") == std::string_view::npos) return false;
  int major = 0;
  int minor = 0;
  const std::string number(all.substr(at + kVersion.size(), 32));
  if (std::sscanf(number.c_str(), "%d.%d", &major, &minor) != 2) return false;
  return major < 4 || (major == 4 && minor < 2);
}

bool Library::contains(const void* address) const {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return false;
  if (reinterpret_cast<std::uintptr_t>(info.dli_fbase) == base_) return true;
  // Open MPI may be built with its components as plug-ins (mca_io_romio341.so ...).
  return info.dli_fname != nullptr && base_name(info.dli_fname).starts_with("mca_");
}

void* Library::tool_after_this(const char* name) const {
  void* next = dlsym(RTLD_NEXT, name);
  return next == nullptr || contains(next) ? nullptr : next;
}

}  // namespace alm::mpi

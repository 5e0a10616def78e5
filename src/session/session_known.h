// What the job knows at its start.
#pragma once

#include "job/job.h"

namespace alm::session {

// A cluster file of other hosts, or of some of these under old names, is worth no more than none.
void drop_file_of_others(job::Job& job);

}  // namespace alm::session

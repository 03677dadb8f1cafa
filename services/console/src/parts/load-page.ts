/** Loads the file of a page when it is opened. */

const pauseMs = 2000;

/** Whether the server answers at all. */
const isAnswering = (): Promise<boolean> =>
  fetch('/', { method: 'HEAD', cache: 'no-store' }).then(
    () => true,
    () => false,
  );

/**
 * Waits while no server answers: the router would load the whole console again, and the browser would replace it by a page
 * of its own.
 *
 * @throws the failure, when the server answers and the file is missing: the console is of an earlier release
 */
export async function loadPage<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      if (await isAnswering()) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

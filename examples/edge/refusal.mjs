/** What is wrong with a request, for the client to read. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}
